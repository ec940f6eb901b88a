"""Entries of ir_datasets' registry: datasets with counts and metadata, and record types."""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Any, Tuple, Union, get_args, get_origin, get_type_hints  # noqa: UP035

import ir_datasets
from ir_datasets.util import MetadataComponent


class Registered(ir_datasets.Dataset):  # type: ignore[misc]
    """A dataset under its id, which other processes load by that id."""

    def __init__(self, dataset_id: str, dataset: ir_datasets.Dataset) -> None:
        metadata = MetadataComponent(dataset_id, dataset, _Counted(dataset))
        super().__init__(metadata, dataset)
        self._registered_id = dataset_id

    def __reduce__(self) -> tuple[Any, ...]:
        return load_registered, (self._registered_id,)


def load_registered(dataset_id: str) -> Any:
    """Returns the dataset of an id that irtoolkit registers."""
    # Unpickling may import this module first, in a process that has not registered the datasets.
    import irtoolkit.datasets  # noqa: F401

    return ir_datasets.load(dataset_id)


class _Counted:
    """ir_datasets' metadata of a dataset, computed from its records on demand."""

    def __init__(self, dataset: ir_datasets.Dataset) -> None:
        self._dataset = dataset
        self._of = cache(self._computed)

    def get_metadata(self, dataset_id: str, kind: ir_datasets.EntityType | str) -> dict[str, Any]:
        """Returns the number and fields of one kind of records, in ir_datasets' own format."""
        return self._of(ir_datasets.EntityType(kind).value)

    def _computed(self, kind: str) -> dict[str, Any]:
        # Candidates that many queries share are counted, and not listed.
        if kind == "scoreddocs":
            return {"count": self._dataset.scoreddocs_count()}
        values: dict[str, Any] = getattr(self._dataset, f"{kind}_calc_metadata")(verbose=False)
        return values


def with_real_types(record: type) -> type:
    """Returns a record type after its annotations have become types that ir_datasets exports.

    `ir_datasets export` compares annotations with `str`, `int`, `float` and `typing.Tuple[..., ...]`,
    and leaves out any other field. So a name in quotes becomes its type, as in modules with
    `from __future__ import annotations`, `int | None` becomes `int`, and `tuple` becomes `Tuple`.
    """
    if hasattr(record, "_fields"):
        record.__annotations__ = {
            name: _exported(hint) for name, hint in get_type_hints(record).items()
        }
    return record


def _exported(hint: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if (origin is Union or type(hint).__name__ == "UnionType") and NoneType in args:
        (first_type, *others) = [member for member in args if member is not NoneType]
        return hint if others else _exported(first_type)
    return Tuple[args] if origin is tuple and args else hint  # noqa: UP006

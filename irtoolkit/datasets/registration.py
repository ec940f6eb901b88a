"""Datasets as ir_datasets' registry holds them: with counts and metadata, and sent by their ids."""

from __future__ import annotations

from functools import cache
from typing import Any

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

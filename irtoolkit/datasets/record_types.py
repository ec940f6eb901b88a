"""Record types in the form that ir_datasets' own commands read."""

from __future__ import annotations

from types import NoneType
from typing import Any, Tuple, Union, get_args, get_origin, get_type_hints  # noqa: UP035


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

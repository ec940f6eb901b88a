"""Conversion from Python and NumPy values to Arrow arrays and back, without pandas.

pyarrow's own conversions (`pa.array`, `pa.scalar`, `Array.to_numpy`) import pandas whenever it is
installed, which takes longer than everything else that a short command does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from irtoolkit.base.ids import Ids


def column(values: Sequence[Any], kind: pa.DataType) -> Any:
    """Returns an Arrow array of values; None is null. Text, numbers and lists avoid pandas."""
    if pa.types.is_string(kind):
        filled = ["" if value is None else value for value in values]
        joined = "".join(filled)
        if joined.isascii():
            return _of(kind, values, [_ends(filled), pa.py_buffer(joined.encode())])
        coded = [value.encode() for value in filled]
        return _of(kind, values, [_ends(coded), pa.py_buffer(b"".join(coded))])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        rows = [() if value is None else value for value in values]
        items = column(list(chain.from_iterable(rows)), kind.value_type)
        return _of(kind, values, [_ends(rows, pa.types.is_large_list(kind))], [items])
    if pa.types.is_fixed_size_list(kind):
        empty = (None,) * kind.list_size
        rows = [empty if value is None else value for value in values]
        if any(len(row) != kind.list_size for row in rows):
            raise ValueError(f"a list is not of {kind.list_size} values")
        items = column(list(chain.from_iterable(rows)), kind.value_type)
        return _of(kind, values, [], [items])
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return pa.array(list(values), kind)
    integers = [0 if value is None else value for value in values]
    return _of(kind, values, [pa.py_buffer(np.array(integers, kind.to_pandas_dtype()))])


def texts(values: Sequence[str] | Ids) -> Any:
    """Returns an Arrow array of texts."""
    return column(list(values), pa.string())


def numbers(values: NDArray[Any]) -> Any:
    """Returns an Arrow array on the memory of a one-dimensional numpy array of numbers."""
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def to_numpy(array: Any) -> NDArray[Any]:
    """Returns a read-only numpy array on the memory of an Arrow array of numbers without nulls."""
    return np.from_dlpack(array)


def _of(
    kind: pa.DataType, values: Sequence[Any], buffers: list[Any], children: list[Any] | None = None
) -> Any:
    bits = None
    present = np.array([value is not None for value in values], dtype=bool)
    if not present.all():
        bits = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, *buffers], children=children)


def _ends(parts: Sequence[Sequence[Any]], large: bool = False) -> Any:
    """Returns the offsets of concatenated parts as a buffer of 32 or 64-bit integers."""
    ends = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=ends[1:])
    if large:
        return pa.py_buffer(ends)
    if ends[-1] >= 1 << 31:
        raise OverflowError(f"{ends[-1]} values or bytes in one array")
    return pa.py_buffer(ends.astype(np.int32))

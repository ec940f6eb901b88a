"""Readers of other libraries' weight files, which neither need these nor run any content.

`read_paddle` reads the parameters that paddle.save writes, `read_tensorflow` the variables of a
TensorFlow checkpoint or SavedModel, and `read_torch` a checkpoint of torch.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.reasons import reason_of

Arrays = dict[str, NDArray[Any]]

_AGAIN = "fetch it again"


# -- torch --------------------------------------------------------------------------------------


def read_torch(path: Path) -> Any:
    """Returns the content of a torch.save file: tensors, numbers, texts and collections of them.

    Raises:
        InputError: the file is damaged, or holds anything else.
    """
    import argparse

    import torch

    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has several for a damaged file
        raise _damaged(path, "a checkpoint of torch", error) from None


# -- Paddle -------------------------------------------------------------------------------------

_ALLOWED = {
    (module, name)
    for package in ("numpy", "numpy.core", "numpy._core")
    for module, name in (
        (package, "ndarray"),
        (package, "dtype"),
        (f"{package}.multiarray", "_reconstruct"),
        (f"{package}.multiarray", "scalar"),
        (f"{package}.numeric", "_frombuffer"),
    )
} | {("collections", "OrderedDict"), ("_codecs", "encode")}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, which is no array")
        return super().find_class(module, name)


def read_paddle(path: Path) -> Arrays:
    """Returns the parameters in a file model_state.pdparams, by name.

    Raises:
        InputError: the file is damaged, or holds anything but arrays.
    """
    try:
        content = _ArraysOnly(io.BytesIO(path.read_bytes())).load()
    except Exception as error:  # pickle raises whatever it stumbles over
        raise _damaged(path, "a file of Paddle's parameters", error) from None
    arrays = {}
    for name, value in content.items() if isinstance(content, dict) else ():
        # Some versions save a tensor with the name that it had.
        value = value[1] if isinstance(value, tuple) and len(value) == 2 else value
        if isinstance(value, np.ndarray):
            arrays[str(name)] = value
    if not arrays:
        raise InputError("no parameters in it", file=path, remedy=_AGAIN)
    return arrays


# -- TensorFlow ---------------------------------------------------------------------------------

_MAGIC = 0xDB4775248B80FB57
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}


def read_tensorflow(prefix: Path) -> Arrays:
    """Returns the numeric variables of a checkpoint, by name.

    Args:
        prefix: the path of the checkpoint's files without their endings, for example
            "retriever/variables/variables".

    Raises:
        InputError: a file is missing or damaged.
    """
    index = prefix.with_name(f"{prefix.name}.index")
    try:
        entries = dict(_table(index.read_bytes()))
        shards = dict(_fields(entries.pop(b""))).get(1, 1)
        return {
            name.decode(): array
            for name, value in entries.items()
            if (array := _variable(prefix, dict(_fields(value)), shards)) is not None
        }
    except FileNotFoundError as error:
        raise InputError("no such file", file=Path(str(error.filename)), remedy=_AGAIN) from None
    except (LookupError, ValueError, TypeError, struct.error, OSError) as error:
        raise _damaged(index, "the index of a TensorFlow checkpoint", error) from None


def _variable(prefix: Path, entry: dict[int, Any], shards: int) -> NDArray[Any] | None:
    kind = _TYPES.get(entry.get(1, 0))
    if kind is None or 7 in entry:  # a part of a variable
        return None
    shape = [
        dict(_fields(value)).get(1, 0) for field, value in _fields(entry.get(2, b"")) if field == 2
    ]
    path = prefix.with_name(f"{prefix.name}.data-{entry.get(3, 0):05}-of-{shards:05}")
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    if size != entry.get(5, 0):
        raise ValueError(f"{entry.get(5, 0)} bytes for a shape of {size}")
    with path.open("rb") as file:
        file.seek(entry.get(4, 0))
        content = file.read(size)
    return np.frombuffer(content, kind).reshape(shape)


def _table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a sorted table of LevelDB's form, which is not compressed."""
    if len(data) < 48 or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("it does not end as such a file does")
    _, position = _handle(data, len(data) - 48)
    (offset, size), _ = _handle(data, position)
    for _, handle in _block(data, offset, size):
        (begin, length), _ = _handle(handle, 0)
        yield from _block(data, begin, length)


def _handle(data: bytes, position: int) -> tuple[tuple[int, int], int]:
    offset, position = _varint(data, position)
    size, position = _varint(data, position)
    return (offset, size), position


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    if data[offset + size] != 0:
        raise ValueError("it is compressed")
    block, key, position = data[offset : offset + size], b"", 0
    end = len(block) - 4 * (1 + struct.unpack("<I", block[-4:])[0])
    while position < end:
        shared, position = _varint(block, position)
        suffix_length, position = _varint(block, position)
        length, position = _varint(block, position)
        key = key[:shared] + block[position : position + suffix_length]
        yield key, block[position + suffix_length : position + suffix_length + length]
        position += suffix_length + length


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the numbers and values of a protocol buffer's fields."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, position = _varint(data, position)
        elif not size:
            raise ValueError(f"a field of kind {kind}")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position


def _damaged(path: Path, kind: str, error: Exception) -> InputError:
    reason = reason_of(error)
    return InputError(f"not {kind} that can be read safely: {reason}", file=path, remedy=_AGAIN)

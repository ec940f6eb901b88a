"""A reader of pickles of plain data (dicts of texts and numbers) that runs nothing they name.

A pickle is a program: it may import any function and call it. This reader knows two names, those of
NumPy's text scalars, and supplies functions of its own for them.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError

_SCALARS = {("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar")}
_DTYPES = {("numpy", "dtype")}


class _NotPlainError(Exception):
    """A pickle names something else than plain data."""


class _TextType:
    """A stand-in for NumPy's text type, whose state is not needed."""

    __slots__ = ("name",)

    def __init__(self, name: str, *flags: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        pass


def _scalar(kind: object, data: object) -> str:
    """Returns the text of a numpy scalar: characters of four bytes, filled up with zeros."""
    if not isinstance(kind, _TextType) or not kind.name.startswith("U"):
        raise _NotPlainError("a numpy scalar that is no text")
    if not isinstance(data, bytes):
        raise _NotPlainError("a numpy scalar without bytes")
    return data.decode("utf-32-le").rstrip("\0")


class _Reader(pickle.Unpickler):
    """An unpickler that knows no function or class but the two above."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) in _SCALARS:
            return _scalar
        if (module_name, global_name) in _DTYPES:
            return _TextType
        raise _NotPlainError(f"the name {module_name}.{global_name}")


def read_plain_pickle(path: Path) -> Any:
    """Returns the data of a pickle.

    Raises:
        InputError: it cannot be read, is damaged, or names something that would be run.
    """
    try:
        with open(path, "rb") as file:
            return _Reader(file).load()
    except _NotPlainError as found:
        raise InputError(
            f"a pickle with {found}: it may run code, and is not read",
            file=path,
            remedy="a pickle of plain data has dicts, lists, texts and numbers only",
        ) from None
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=path) from None
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(
            f"not a pickle, or a damaged one: {type(error).__name__}",
            file=path,
            remedy="fetch the file again",
        ) from None

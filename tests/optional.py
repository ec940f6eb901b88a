"""Tests that need an extra, where it is not installed: they are skipped, and say which package is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec

from irtoolkit.base.errors import InputError

_REMEDY = re.compile(r"pip install '\.\[\w+\]' in the folder of irtoolkit")


def lacking(error: BaseException | None) -> str | None:
    """The reason why a test cannot run here, if it failed for a package that is not installed."""
    for cause in _chain(error):
        if isinstance(cause, ModuleNotFoundError) and cause.name and _is_missing(cause.name):
            return f"{cause.name} is not installed"
        if isinstance(cause, InputError) and _REMEDY.search(str(cause)):
            return cause.found
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_missing(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in ("irtoolkit", "tests") and find_spec(top) is None

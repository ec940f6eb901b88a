"""Tests that need an extra, where it is not installed: they are skipped, and say which package is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

from irtoolkit.base.errors import InputError

# The message of a missing extra, in an error or in what a test shows of a command's output.
_MESSAGE = re.compile(
    r"([\w-]+)\S* is not installed \(pip install '\.\[\w+\]' in the folder of irtoolkit"
)


def lacking(error: BaseException | None) -> str | None:
    """Returns the reason why a test cannot run here, if it failed for a package that is not installed."""
    for cause in _chain(error):
        if isinstance(cause, ModuleNotFoundError) and cause.name and _is_missing(cause.name):
            return f"{cause.name} is not installed"
        if isinstance(cause, InputError | AssertionError):
            message = _MESSAGE.search(" ".join(str(cause).split()))
            if message and not _is_installed(message[1]):
                return f"{message[1]} is not installed"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_missing(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in ("irtoolkit", "tests") and find_spec(top) is None


def _is_installed(package: str) -> bool:
    """Returns whether a package is installed, although a test may make irtoolkit believe otherwise."""
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True

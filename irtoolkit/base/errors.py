"""The one error users see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike

from irtoolkit.base.paths import as_given, shown
from irtoolkit.base.textwidth import ELLIPSIS, printable

# What is wrong is said in one line, also where a file says it at length.
_LONGEST = 2_000
_LONGEST_NAME = 800


class InputError(Exception):
    """Input to irtoolkit that cannot be used as it is.

    The message says what is wrong and what to do; `file` and `line` say where. A copy of a file at
    a URL is called by its URL, and no URL shows credentials. The description is one line of at most
    2,000 characters, in which unprintable characters are written as in Python.

    Args:
        found: what is wrong, in one clause.
        file: the file with the error, if any.
        line: 1-based line in that file, if any.
        remedy: what the user can do about it.
    """

    def __init__(
        self,
        found: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.found = _line(as_given(found))
        self.file = None if file is None else shown(file)
        self.line = line
        self.remedy = None if remedy is None else _line(as_given(remedy))
        super().__init__(str(self))

    def __str__(self) -> str:
        location = "" if self.file is None else _line(self.file, _LONGEST_NAME)
        if self.line is not None:
            location += f":{self.line}"
        text = f"{location}: {self.found}" if location else self.found
        return text if self.remedy is None else f"{text} ({self.remedy})"


@contextmanager
def errors_in(file: str | PathLike[str], line: int | None = None) -> Iterator[None]:
    """Names a file, and perhaps a line, in the InputErrors of a block that reads it."""
    try:
        yield
    except InputError as error:
        place = error.line if line is None else line
        raise InputError(error.found, file=file, line=place, remedy=error.remedy) from None


def _line(text: str, longest: int = _LONGEST) -> str:
    """Returns the text as one line, without its middle if it is very long."""
    line = printable(text)
    if len(line) <= longest:
        return line
    half = (longest - len(ELLIPSIS)) // 2
    return f"{line[:half]}{ELLIPSIS}{line[-half:]}"


def needs_extra(module: str, extra: str) -> InputError:
    """Returns the error for an optional library that is not installed."""
    return InputError(f"{module} is not installed", remedy=install(extra))


def check_installed(module: str, extra: str) -> None:
    """Raises InputError if an optional library is not installed; it is not imported."""
    if find_spec(module) is None:
        raise needs_extra(module, extra)


def install(extra: str) -> str:
    """Returns the command that installs an extra from a clone, as irtoolkit is on no index."""
    return f"pip install '.[{extra}]' in the folder of irtoolkit"

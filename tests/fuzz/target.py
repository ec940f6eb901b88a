"""What is fuzzed: a function that parses bytes, and what may come of it."""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base import arrow
from irtoolkit.base.errors import InputError
from tests.conftest import ROOT

FOUND = ROOT / "tests" / "fuzz" / "found"


@dataclass(frozen=True)
class Target:
    """A parser under test.

    Attributes:
        name: one word, which is also the folder of its found cases.
        parse: raises InputError where the bytes are refused. Where it returns, what was read has been
            compared with what another reader says, or with what such content has to be; any other
            exception is a failure.
        seeds: valid inputs, small.
        words: pieces of inputs that mean something to the parser.
        dear: whether an input takes milliseconds, so that fewer are tried in the suite.
    """

    name: str
    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()
    dear: bool = False


class FailureError(Exception):
    """An input that is neither refused nor read right.

    Attributes:
        key: the same for inputs that fail in one way: the exception and where it was raised.
    """

    def __init__(self, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if f"{ROOT}/" in frame.filename]
        last = (ours or frames)[-1]
        self.key = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        super().__init__(f"{self.key}: {error}"[:500])


def attempt(target: Target, data: bytes) -> bool:
    """Whether a target reads some bytes; False where it refuses them.

    Raises:
        FailureError: it does neither.
    """
    try:
        target.parse(data)
    except InputError as error:
        try:
            _check_message(error)
        except AssertionError as said:
            raise FailureError(said) from error
        return False
    except (Exception, RecursionError) as error:
        raise FailureError(error) from error
    return True


# A place in Python's code, or the name of an exception of its own.
_LEAKED = re.compile(r"Traceback|File \"|\b(?:Type|Key|Attribute|Index|Assertion)Error\b")


def _check_message(error: InputError) -> None:
    """One line that says what was found, in so many words."""
    assert error.found.strip(), "an error that says nothing"
    assert "\n" not in str(error), "an error of several lines"
    assert len(str(error)) < 5_000, "an error that repeats what it was given"
    assert not _LEAKED.search(error.found), f"an error in Python's words: {error.found}"


def found_cases(target: Target) -> list[Path]:
    """The inputs that once failed, which are kept."""
    folder = FOUND / target.name
    return sorted(folder.iterdir()) if folder.is_dir() else []


def keep(target: Target, data: bytes) -> Path:
    """Keeps an input that fails, for the suite."""
    path = FOUND / target.name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@cache
def scratch() -> Path:
    """A folder of this process, in memory where there is such a place."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="irtk-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def put(name: str, data: bytes) -> Path:
    """A file of the scratch folder with some content."""
    path = scratch() / name
    path.write_bytes(data)
    return path


class Rows:
    """Takes the rows that a parser of documents makes, in the place of the cache's writer.

    Args:
        schemas: for each table, column names to types.
    """

    def __init__(self, schemas: Mapping[str, Mapping[str, pa.DataType]]) -> None:
        self._schemas = schemas
        self.tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in schemas}

    def add(self, table: str, *row: Any) -> None:
        """Appends one row to a table."""
        self.tables[table].append(row)

    def check(self) -> None:
        """Makes the columns that the cache would hold, and fails where a value does not fit."""
        for name, rows in self.tables.items():
            for values, kind in zip(
                zip(*rows, strict=True), self._schemas[name].values(), strict=False
            ):
                made = arrow.column(values, kind)
                assert len(made) == len(rows)


def one_word(names: Iterable[str]) -> None:
    """Fails where an id cannot stand in a run."""
    for name in names:
        assert not re.search(r"[\x00-\x20\x7f\ufeff]", name), f"the id {name!r} was accepted"
        assert name, "an empty id was accepted"

"""A bad or odd input, and what has to come of it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from irtoolkit.base.errors import InputError
from irtoolkit.cli import main

# Seconds after which an input hangs.
SLOWEST = 60
Outcome = Literal["refused well", "accepted rightly", "refused badly", "silent wrong", "traceback", "hang"]  # fmt: skip
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        kind, name: the row of the table that it counts in, and what it is.
        use: a command line, or a function that is given the folder of the files.
        files: what is in the folder, by name, or a function that makes it.
        refused: a word of the message with which it has to be refused; None where it is accepted.
        right: what is said of the answer, standard output or what `use` returns, and of the folder;
            for inputs that are accepted.
        resumes: whether a refused command may leave files with which the next one goes on.
    """

    kind: str
    name: str
    use: tuple[str, ...] | Callable[[Path], Any]
    files: Mapping[str, bytes] | Callable[[], Mapping[str, bytes]] = field(default_factory=dict)
    refused: str | None = None
    right: Callable[[Any, Path], bool] | None = None
    resumes: bool = False


class _HangError(BaseException):
    """It takes longer than it may."""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tried(case: Case, folder: Path) -> tuple[Outcome, str]:
    """What comes of an input in an empty folder, and what was said."""
    files = case.files() if callable(case.files) else case.files
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    before, here = set(folder.rglob("*")), Path.cwd()
    os.chdir(folder)
    try:
        with _in_time():
            status, said, answer = _used(case, folder)
    except _HangError:
        return "hang", f"no answer within {SLOWEST} seconds"
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"
    finally:
        os.chdir(here)
    if "Traceback (most" in said or re.search(r"--debug shows where", said):
        return "traceback", said
    if case.refused is None:
        good = status == 0 and (case.right is None or case.right(answer, folder))
        return ("accepted rightly" if good else "silent wrong" if status == 0 else "refused badly"), f"{said} {answer!r}"[:500]  # fmt: skip
    if status == 0:
        return "silent wrong", f"accepted: {answer!r}"[:500]
    new = [path.name for path in set(folder.rglob("*")) - before if path.is_file()]
    left = [name for name in new if _is_result(case, name)]
    good = case.refused.lower() in said.lower() and not left
    return ("refused well" if good else "refused badly"), f"{said} {left or ''}"[:500]


def _is_result(case: Case, name: str) -> bool:
    """Whether a file that a refused command leaves looks like its result."""
    if callable(case.use):
        return False
    return name == "benchmark.json" if case.resumes else not name.endswith(".lock")


def _used(case: Case, folder: Path) -> tuple[int, str, Any]:
    """The status, what was said of what is wrong, and the answer."""
    out, err = io.StringIO(), io.StringIO()
    if callable(case.use):
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                answer = case.use(folder)
        except InputError as error:
            return 2, str(error), None
        return 0, err.getvalue(), answer
    with contextlib.redirect_stdout(_Stream(out)), contextlib.redirect_stderr(_Stream(err)):
        try:
            status = main(list(case.use))
        except SystemExit as leaving:  # argparse's way out
            status = int(leaving.code or 0)
    said = err.getvalue()
    return status, said if status != 1 else said + out.getvalue(), out.getvalue()


class _Stream(io.TextIOWrapper):
    """A standard stream that is kept in memory."""

    def __init__(self, into: io.StringIO) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._into = into

    def write(self, text: str) -> int:
        """Keeps some text."""
        return self._into.write(text)

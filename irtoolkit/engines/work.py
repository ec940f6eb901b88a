"""A piece of work in a worker, and the ordered results in the driver."""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from irtoolkit.base.errors import InputError

T = TypeVar("T")

# A piece of work is given up when so many workers have died of it.
ATTEMPTS = 3
# Results that are held for each worker: what comes early waits for what comes before it.
HELD = 2
# Characters of an item that errors show; of a longer one they show the number.
_SHOWN = 40


class Said(NamedTuple):
    """A message of a worker: of a logger, or a warning, which has a category in place of a level."""

    name: str
    level: int | type[Warning]
    text: str


@dataclass
class Outcome:
    """The result of a piece of work, or its error.

    Attributes:
        value: the result.
        error: the exception; None if there is a result.
        said: its log messages and warnings.
    """

    value: Any = None
    error: Exception | None = None
    said: list[Said] = field(default_factory=list)


def pack(work: Callable[..., Any]) -> bytes:
    """Returns a function or a callable object as bytes; functions of a notebook or script too.

    Relative paths in it mean the same in the process that unpacks it: see `unpack`.

    Raises:
        InputError: it has something that only this process has, for example an open file.
    """
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps((_Folder(os.getcwd()), work), pickle.HIGHEST_PROTOCOL)
    except (TypeError, pickle.PicklingError, AttributeError, ValueError) as error:
        raise InputError(
            f"{type(work).__name__} cannot be sent to other processes: {error}",
            remedy="--engine local works in this one",
        ) from error
    return packed


def unpack(packed: Any) -> Any:
    """Returns the work packed by `pack`, and moves to the packing process's working folder.

    On a machine without that folder it is an empty one, in which no relative path leads anywhere.
    """
    return pickle.loads(packed)[1]


@dataclass
class _Folder:
    """A working folder, which is entered when unpickled, before anything after it is unpickled."""

    path: str

    def __reduce__(self) -> Any:
        return _entered, (self.path,)


# The folder of the driver that this machine lacks.
_lacking = ""


def _entered(path: str) -> None:
    global _lacking
    try:
        os.chdir(path)
        _lacking = ""
    except OSError:
        os.chdir(_empty())
        _lacking = path


def lacking() -> str:
    """Returns the driver's working folder if this machine lacks it, otherwise ""."""
    return _lacking


@cache
def _empty() -> str:
    return tempfile.mkdtemp(prefix="irtoolkit-empty-")


# The work that this worker has done last, by its number: models and indexes stay loaded with it.
_last: tuple[str, Callable[[Any], Any]] | None = None


# Names the machine in an error, given also the driver's folder where that machine lacks it.
Located = Callable[[Exception, str], Exception]


def perform(key: str, packed: Any, item: Any, located: Located | None = None) -> bytes:
    """Does a piece of work in a worker; returns its `Outcome` as bytes.

    Args:
        key: tells one `map` from another.
        packed: the work from `pack`; not read if the worker has it already.
        item: the argument of the work.
        located: adds the machine to errors, if it may be another than the driver's.
    """
    global _last
    with _listening() as messages:
        try:
            if _last is None or _last[0] != key:
                _last = None  # its memory is free before the next one loads
                _last = key, unpack(packed)
            outcome = Outcome(_last[1](item))
        except Exception as error:  # whatever a piece of work raises belongs to the driver
            outcome = Outcome(error=_portable(located(error, _lacking) if located else error))
    outcome.said = messages
    try:
        return pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        reason = f"a result of type {type(outcome.value).__name__} cannot be sent back: {error}"
        return pickle.dumps(Outcome(error=TypeError(reason), said=messages))


def _portable(error: Exception) -> Exception:
    """Returns an error that arrives as it is.

    Of one that cannot be sent, its type and its message.
    """
    if isinstance(error, InputError):
        return error
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a worker:\n{trace}")
    return error


@contextmanager
def _listening() -> Iterator[list[Said]]:
    """Collects log messages and warnings instead of showing them."""
    messages: list[Said] = []

    class Gatherer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(Said(record.name, record.levelno, record.getMessage()))

    root, handler = logging.getLogger(), Gatherer()
    before, root.handlers = root.handlers, [handler]
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield messages
    finally:
        root.handlers = before
    messages += [
        Said(warning.filename, warning.category, str(warning.message)) for warning in caught
    ]


class Reporter:
    """A reporter of workers' messages: the same message of several workers once."""

    def __init__(self) -> None:
        self._seen: set[Said] = set()

    def value(self, outcome: Outcome) -> Any:
        """Returns the result of a piece of work.

        Raises:
            Exception: the work's exception.
        """
        for message in outcome.said:
            if message not in self._seen:
                self._seen.add(message)
                _show(message)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


def _show(message: Said) -> None:
    if isinstance(message.level, int):
        logging.getLogger(message.name).log(message.level, "%s", message.text)
    else:
        warnings.warn_explicit(message.text, message.level, message.name, 1)


class Items(Generic[T]):
    """The items of a `map` by their numbers, read from an iterable as they are needed.

    Attributes:
        total: their number; None if only reading them would tell.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self.total = len(items) if isinstance(items, Sized) else None
        self._left, self._read = iter(items), 0
        self._kept: dict[int, T] = {}

    def has(self, number: int) -> bool:
        """Returns whether there is an item of a number."""
        while self._read <= number:
            try:
                self._kept[self._read] = next(self._left)
            except StopIteration:
                return False
            self._read += 1
        return True

    def __getitem__(self, number: int) -> T:
        """Returns an item that there is."""
        self.has(number)
        return self._kept[number]

    def drop(self, number: int) -> None:
        """Lets go of an item that is done."""
        self._kept.pop(number, None)


class WorkerKilledError(InputError):
    """The error for a piece of work that kills its workers.

    Args:
        items: those of a `map`.
        number: of the piece among them.
        times: how often it was tried.
        lost: why its result is lost, unless the worker has died.

    Attributes:
        number: of the piece among the items of its `map`.
    """

    def __init__(self, items: Items[Any], number: int, times: int, lost: str | None = None) -> None:
        self.number = number
        label = repr(items[number])
        if len(label) > _SHOWN:
            of = "" if items.total is None else f" of {items.total}"
            label = f"piece {number + 1}{of}"
        often = f" {times} times" if times > 1 else ""
        if lost is not None:
            reason = f"what a node had of {label} was lost ({lost})"
            super().__init__(reason, remedy="rerun the same command: finished parts are kept")
            return
        super().__init__(
            f"a worker was killed, perhaps out of memory,{often} while it worked on {label}",
            remedy="give fewer --workers, so that each has more memory; finished parts are kept",
        )

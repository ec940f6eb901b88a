"""The standard streams of a command, which may be closed, full, or without a reader."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from irtoolkit.base.errors import InputError
from irtoolkit.base.streams import CLOSED

# Python's names of the encoding.
_UTF8 = ("utf-8", "utf8")
# Of the streams, by their numbers.
_NAMES = ("stdin", "stdout", "stderr")


def prepare() -> None:
    """Prepares the standard streams for any text.

    Messages to a closed stream are dropped, and output to one is an error, as to a full disk. If
    its number were free, the next opened file would get it, and the output of libraries. The others
    are made UTF-8, as the files are: a pipe on Windows has another encoding.

    Output without a buffer, as with PYTHONUNBUFFERED, gets a line buffer: an error of a buffer is
    raised again by its next flush, so that `flushed` can tell that it is the output's.
    """
    closed = [number for number, name in enumerate(_NAMES) if getattr(sys, name) is None]
    for number in closed:  # all, before a number is taken by what is opened here
        with suppress(OSError):
            _drop(number)
        CLOSED.add(number)
    for number in closed:
        # What is open for reading alone refuses what is written.
        nowhere = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
        replaced = open(nowhere, "w" if number else "r", encoding="utf-8")  # noqa: SIM115
        setattr(sys, _NAMES[number], replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in _UTF8:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    out = sys.stdout
    # Only the stream of the process: any other belongs to the code that calls a command from Python.
    is_own = out is sys.__stdout__ and isinstance(out, io.TextIOWrapper)
    if is_own and isinstance(out.buffer, io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115
            out.fileno(), "w", 1, encoding=out.encoding, errors=out.errors, closefd=False
        )


@contextmanager
def messages_once() -> Iterator[None]:
    """Shows a warning that is logged several times within the block once."""
    messages: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        repeated = message in messages
        messages.add(message)
        return not repeated

    handler = logging.lastResort
    if handler is None:
        yield
        return
    handler.addFilter(is_new)
    try:
        yield
    finally:
        handler.removeFilter(is_new)


@contextmanager
def flushed() -> Iterator[None]:
    """Flushes the output before the block ends, so that a failure is an error of the block.

    Raises:
        InputError: it cannot be written, for example because the disk is full.
    """
    try:
        yield
    except SystemExit:
        _flush()
        raise
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            _flush()  # which says so, where it is the output that cannot be written
        raise
    _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()  # or the interpreter tries again at its end
        raise InputError(f"cannot write to standard output: {error.strerror or error}") from error


def say(text: str) -> None:
    """Prints lines on standard error; without a reader they are dropped, and the work continues."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        drop_errors()


def drop_output() -> None:
    """Drops the unwritten part of standard output."""
    with suppress(OSError, ValueError):
        _drop(sys.stdout.fileno())


def drop_errors() -> None:
    """Drops the unwritten part of standard error."""
    with suppress(OSError, ValueError):
        _drop(sys.stderr.fileno())


def _drop(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)

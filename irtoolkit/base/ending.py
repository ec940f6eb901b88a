"""Signals that end a process after it has cleaned up: from `kill`, batch systems, terminals."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Windows has SIGTERM alone.
_SIGNALS = ("SIGTERM", "SIGHUP")
# What a shell adds to the number of a signal.
_BY_SIGNAL = 128


class Ended(KeyboardInterrupt):
    """The request to end this process, which then does the same as after Ctrl-C.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def heed() -> None:
    """Installs handlers that raise `Ended` in the main thread when this process is sent a signal to end.

    A signal that is already ignored stays so, as nohup expects; so does one that has a handler.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not the main thread
                signal.signal(number, _end)


def status(interrupt: KeyboardInterrupt) -> int:
    """Returns the exit status of an interruption: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)."""
    return _BY_SIGNAL + (interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT)


@contextmanager
def delay_ending(then: Callable[[], object]) -> Iterator[None]:
    """Delays a request to end this process until the block is left; a second one ends it at once.

    In other threads than the main one, which receives no signals, it does nothing.

    Args:
        then: called when the request comes.
    """
    handlers: dict[int, Callable[[int, Any], Any]] = {}
    received: list[int] = []

    def note(number: int, frame: Any) -> None:
        signal.signal(number, handlers[number])
        received.append(number)
        then()

    with suppress(ValueError):  # not the main thread
        for name in ("SIGINT", *_SIGNALS):
            number = getattr(signal, name, None)
            handler = None if number is None else signal.getsignal(number)
            if number is not None and callable(handler):
                handlers[number] = handler
                signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        handlers[received[0]](received[0], None)


def _end(number: int, frame: Any) -> None:
    # `timeout` sends two of them: the second must not cut the cleaning short.
    signal.signal(number, signal.SIG_IGN)
    raise Ended(number)

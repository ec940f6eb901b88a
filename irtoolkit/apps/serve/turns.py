"""Who computes first: searches go before the preparation of books."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds that a book waits for searches: it progresses, slowly, however many there are.
_LONGEST = 1.0


class Turns:
    """Work on a book begins when no search is under way; a search never waits.

    Args:
        longest: seconds after which a book no longer waits.
    """

    def __init__(self, longest: float = _LONGEST) -> None:
        self._longest = longest
        self._searches = 0
        self._none = threading.Condition()
        # For tests: pieces of work on books that wait now.
        self.waiting = 0

    @contextmanager
    def search(self) -> Iterator[None]:
        """While a search is under way."""
        with self._none:
            self._searches += 1
        try:
            yield
        finally:
            with self._none:
                self._searches -= 1
                if not self._searches:
                    self._none.notify_all()

    def wait(self) -> None:
        """Returns when the next piece of work on a book may begin."""
        with self._none:
            self.waiting += 1
            self._none.wait_for(lambda: not self._searches, self._longest)
            self.waiting -= 1

"""Books by their words: those of a bounded number of collections are held in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from irtoolkit.ranking.book_words import BookWords

# Collections whose words are held by default; each has some 15 files open, of 1,024 that a process may have.
HELD = 16


class Indexes:
    """The words of the collections that were searched last.

    Args:
        most: how many are held.
    """

    def __init__(self, most: int = HELD) -> None:
        self._most = most
        self._held: OrderedDict[str, BookWords] = OrderedDict()
        self._table, self._building = threading.Lock(), threading.Lock()

    def has(self, name: str) -> bool:
        """Whether a collection can be searched by words at once."""
        with self._table:
            return name in self._held

    def get(self, name: str, build: Callable[[], BookWords]) -> BookWords:
        """The words of a collection; those that are not held are indexed, one collection at a time."""
        entry = self._known(name)
        if entry is not None:
            return entry
        with self._building:
            # Another thread may have built it meanwhile.
            entry = self._known(name) or build()
            with self._table:
                self._held[name] = entry
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
        return entry

    def drop(self, name: str) -> None:
        """Forgets the words of a collection."""
        with self._table:
            self._held.pop(name, None)

    def _known(self, name: str) -> BookWords | None:
        with self._table:
            entry = self._held.get(name)
            if entry is not None:
                self._held.move_to_end(name)
            return entry

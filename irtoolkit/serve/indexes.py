"""Indexes of passages by words: a bounded number of a server's is held in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irtoolkit.retrievers.kept_index import KeptIndex

# Indexes that are held where nobody says otherwise.
HELD = 64


class Indexes:
    """The indexes that were used last, each of one collection and one length of passages.

    Args:
        most: how many are held.
    """

    def __init__(self, most: int = HELD) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, int], KeptIndex] = OrderedDict()
        self._table, self._building = threading.Lock(), threading.Lock()

    def has(self, name: str, length: int) -> bool:
        """Whether passages of so many sentences of a collection can be searched at once."""
        with self._table:
            return (name, length) in self._held

    def get(self, name: str, length: int, build: Callable[[], KeptIndex]) -> KeptIndex:
        """An index; one that is not held is built, one at a time."""
        found = self._known(name, length)
        if found is not None:
            return found
        with self._building:
            # Another thread may have built it meanwhile.
            found = self._known(name, length) or build()
        with self._table:
            self._held[name, length] = found
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return found

    def drop(self, name: str) -> None:
        """Forgets the indexes of a collection."""
        with self._table:
            for key in [key for key in self._held if key[0] == name]:
                del self._held[key]

    def _known(self, name: str, length: int) -> KeptIndex | None:
        with self._table:
            found = self._held.get((name, length))
            if found is not None:
                self._held.move_to_end((name, length))
            return found

"""Placing of training rows in batches without conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.training.conflicts import Conflicts

# Orders in which rows are placed before the placement fails.
TRIES = 4
# Full batches that are searched for a row that could move to another batch.
_SWAPS = 256


def deal(clusters: Ints, room: Ints, random: Generator) -> Ints | None:
    """Places rows so that those of a cluster are in different batches.

    Each cluster goes to the emptiest batches, with ties broken at random. This finds a placement
    whenever there is one (Gale 1957, Ryser 1957).

    Args:
        clusters: (n,) cluster of each row.
        room: number of rows that each batch takes, n in total.
        random: generator of random numbers.

    Returns:
        (n,) batch of each row, or None if there is no placement.
    """
    placed, sizes = np.empty(len(clusters), np.int64), np.bincount(clusters)
    alone = sizes[clusters] == 1
    order = random.permutation(np.flatnonzero(~alone))
    order = order[np.argsort(random.permutation(len(sizes))[clusters[order]], kind="stable")]
    cuts = np.flatnonzero(np.diff(clusters[order], prepend=-1, append=-1)).tolist()
    batches = OpenBatches(room, random)
    batch_of: list[int] = []
    for begin, end in pairwise(cuts):
        opened = batches.take(end - begin)
        if opened is None:
            return None
        batch_of += opened
    placed[order] = np.array(batch_of, np.int64)
    remaining = np.repeat(
        np.arange(len(room)), room - np.bincount(placed[order], minlength=len(room))
    )
    placed[alone] = random.permutation(remaining)
    return placed


class OpenBatches:
    """Batches by the number of rows that they still take; those with the same number shuffled."""

    def __init__(self, room: Ints, random: Generator) -> None:
        self._by_room: list[list[int]] = [[] for _ in range(int(room.max(initial=0)) + 1)]
        for batch in random.permutation(len(room)).tolist():
            self._by_room[room[batch]].append(batch)
        self._chances = _uniform(random)

    def take(self, count: int) -> list[int] | None:
        """Takes room for one row from each of the `count` emptiest batches.

        Returns:
            The batches, or None if fewer have room.
        """
        level, taken_batches = len(self._by_room) - 1, list[tuple[int, list[int]]]()
        while count:
            while level and not self._by_room[level]:
                level -= 1
            if not level:
                return None
            bucket = self._by_room[level]
            cut = max(0, len(bucket) - count)
            taken_batches.append((level, bucket[cut:]))
            count -= len(bucket) - cut
            del bucket[cut:]
            level -= 1
        for level, batches in taken_batches:
            for batch in batches:
                self._put(level - 1, batch)
        while len(self._by_room) > 1 and not self._by_room[-1]:
            self._by_room.pop()
        return [batch for _, batches in taken_batches for batch in batches]

    def first(self, fits: Callable[[int], bool]) -> int | None:
        """Takes room for one row from the emptiest batch that fits; None if none fits."""
        for level in range(len(self._by_room) - 1, 0, -1):
            bucket = self._by_room[level]
            for i in range(len(bucket) - 1, -1, -1):
                batch = bucket[i]
                if fits(batch):
                    bucket[i] = bucket[-1]
                    bucket.pop()
                    self._put(level - 1, batch)
                    return batch
        return None

    def room(self) -> Ints:
        """Returns the batches with room, each repeated as often as it takes another row."""
        repeated = [
            batch
            for level, bucket in enumerate(self._by_room)
            for batch in bucket
            for _ in range(level)
        ]
        return np.array(repeated, np.int64)

    def _put(self, level: int, batch: int) -> None:
        bucket = self._by_room[level]
        index = int(next(self._chances) * (len(bucket) + 1))
        bucket.append(batch)
        bucket[index], bucket[-1] = bucket[-1], bucket[index]


def _uniform(random: Generator) -> Iterator[float]:
    while True:
        yield from random.random(1 << 12).tolist()


class RowPlacer:
    """Places rows one by one, those with the most conflicts first."""

    def __init__(self, conflicts: Conflicts, rows: Ints, clusters: Ints) -> None:
        self._alone = np.bincount(clusters)[clusters] == 1
        self._all, self._rows = conflicts, rows
        self._brought: list[frozenset[int]] = []
        self._excluded: list[frozenset[int]] = []
        self._counts: NDArray[np.float64] = np.empty(0)

    def place(self, active: Ints, room: Ints, random: Generator) -> Ints | None:
        """Places rows in batches until all batches are full.

        Args:
            active: the rows to place; other rows are taken if these do not fit.
            room: number of rows that each batch takes.
            random: generator of random numbers.

        Returns:
            The batch of each row, -1 for a row that is left out; None if batches stay open.
        """
        self._prepare()
        count = len(self._rows)
        spare = np.ones(count, bool)
        spare[active] = False
        hard = np.flatnonzero(~self._alone)
        order = hard[np.lexsort((random.random(len(hard)) - self._counts[hard], spare[hard]))]
        stuck: list[int] = []
        for _ in range(TRIES):
            filling = _Filling(self._brought, self._excluded, room, random)
            # Rows that did not fit are placed first in the next try.
            unplaced = [
                row for row in dict.fromkeys([*stuck, *order.tolist()]) if not filling.add(row)
            ]
            easy = random.permutation(np.flatnonzero(self._alone))
            easy = easy[np.argsort(spare[easy], kind="stable")]
            free = filling.open.room()
            if len(free) <= len(easy):
                placed = np.full(count, -1)
                for batch, members in enumerate(filling.members):
                    placed[members] = batch
                placed[easy[: len(free)]] = random.permutation(free)
                return placed
            stuck = list(dict.fromkeys([*unplaced, *stuck]))
        return None

    def _prepare(self) -> None:
        """Collects the keys of each row as sets, and counts its conflicts."""
        if self._brought:
            return
        bringing, brought = self._all.brought.take(self._rows)
        excluding, excluded = self._all.excluded.take(self._rows)
        keys, places = np.unique(np.concatenate([brought, excluded]), return_inverse=True)
        first, second = places[: len(brought)], places[len(brought) :]
        brings = np.bincount(first, minlength=len(keys))
        excludes = np.bincount(second, minlength=len(keys))
        self._counts = np.zeros(len(self._rows))
        self._counts += np.bincount(bringing, excludes[first], len(self._rows))
        self._counts += np.bincount(excluding, brings[second], len(self._rows))
        for keys_of, target in (
            (self._all.brought, self._brought),
            (self._all.excluded, self._excluded),
        ):
            target += [frozenset(keys_of[row].tolist()) for row in self._rows]


class _Filling:
    """Batches that are being filled.

    Attributes:
        members: the rows of each batch.
        open: the batches by their room.
    """

    def __init__(
        self,
        brought: list[frozenset[int]],
        excluded: list[frozenset[int]],
        room: Ints,
        random: Generator,
    ) -> None:
        self.members: list[list[int]] = [[] for _ in room]
        self.open = OpenBatches(room, random)
        self._of_rows = brought, excluded
        self._brought: list[Counter[int]] = [Counter() for _ in room]
        self._excluded: list[Counter[int]] = [Counter() for _ in room]
        self._random = random
        self._refused: set[tuple[frozenset[int], frozenset[int]]] = set()

    def add(self, row: int) -> bool:
        """Puts a row in the emptiest batch where it has no conflict; False if there is none."""
        same = self._of_rows[0][row], self._of_rows[1][row]
        if same in self._refused:
            return False
        batch = self.open.first(lambda batch: self._fits(row, batch))
        if batch is not None:
            self._put(row, batch)
        elif not self._swap(row):
            # Rows with the same keys, of which there may be thousands, will not fit either.
            self._refused.add(same)
            return False
        return True

    def _swap(self, row: int) -> bool:
        """Puts a row in a full batch, and one of that batch's rows in another batch."""
        for batch in self._random.permutation(len(self.members))[:_SWAPS].tolist():
            if not self._fits(row, batch):
                continue
            for member in self.members[batch]:
                to = self.open.first(lambda to, member=member: self._fits(member, to))  # type: ignore[misc]
                if to is not None:
                    self._remove(member, batch)
                    self._put(member, to)
                    self._put(row, batch)
                    return True
        return False

    def _fits(self, row: int, batch: int) -> bool:
        brought, excluded = self._of_rows
        return self._excluded[batch].keys().isdisjoint(brought[row]) and self._brought[
            batch
        ].keys().isdisjoint(excluded[row])

    def _put(self, row: int, batch: int) -> None:
        self.members[batch].append(row)
        for tally, of in zip((self._brought, self._excluded), self._of_rows, strict=True):
            tally[batch].update(of[row])

    def _remove(self, row: int, batch: int) -> None:
        self.members[batch].remove(row)
        for tally, of in zip((self._brought, self._excluded), self._of_rows, strict=True):
            for key in of[row]:
                tally[batch][key] -= 1
                if not tally[batch][key]:
                    del tally[batch][key]

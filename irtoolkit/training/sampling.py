"""Which rows make a batch.

The golds and mined negatives of all rows of a batch serve each of them as negatives, so rows of
which one bars what another has must not meet. Clusters of such rows are dealt out, a row to a
batch; where a cluster is larger than there are batches, its rows are placed one by one.

How many batches an epoch has is found beforehand, so that it is the same in every epoch: as many as
the size asks for and the largest number of rows that bar one another, and more where placing would
fail. What succeeded then is kept for epochs in which another order fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.training.negatives import Ragged, generator
from irtoolkit.training.sets import TrainingSet

# Orders in which rows are placed before something else is tried.
_TRIES = 4
# Full batches that are looked at for a row that could make room for another.
_SWAPS = 256
# What random numbers are for.
_PLACING, _SHUFFLING, _RESTING, _SEARCHING = range(4)


class Batches:
    """Batches of row numbers, others in each epoch: what torch takes as a batch_sampler.

    Each row stands in one batch of an epoch. Where processes share batches equally, rows that
    cannot be shared rest, and others rest in the next epoch: fewer of a group than there are
    processes, but for rows that bar too many others of their group.

    Attributes:
        epoch: the epoch whose batches are given.
    """

    def __init__(
        self, rows: TrainingSet, size: int, *, grouped: bool, apart: bool, seed: int, rank: int = 0,
        world: int = 1,
    ) -> None:  # fmt: skip
        """Finds the number of batches.

        Args:
            rows: what is trained on.
            size: the most rows of a batch, over all processes.
            grouped: whether a batch has rows of one group only.
            apart: whether rows are kept apart of which one bars a gold or negative of the other.
            seed: of the order.
            rank: the number of this process.
            world: how many processes there are.

        Raises:
            InputError: a batch has no row for each process.
        """
        if size < max(1, world):
            raise InputError(
                f"a batch of {size} rows has none for each of {world} processes",
                remedy="raise batch",
            )
        self.epoch = 0
        self._seed, self._rank, self._world = seed, rank, world
        groups = rows.groups if grouped else np.zeros(len(rows), np.int64)
        order = np.argsort(groups, kind="stable")
        cuts = np.flatnonzero(np.diff(groups[order])) + 1
        marks = _Marks(rows) if apart else None
        clusters = np.arange(len(rows)) if marks is None else marks.clusters(groups)
        self._parts = [
            _Part(mine, clusters[mine], marks, size, world, (seed, number))
            for number, mine in enumerate(np.split(order, cuts))
        ]
        self._planned: tuple[int, list[Ints]] = (-1, [])

    @property
    def left_out(self) -> int:
        """How many rows no epoch has: those of groups that make no batch."""
        return sum(len(part) for part in self._parts if not part.batches)

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch's batches are to be given."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Number of batches, the same in every epoch."""
        return sum(part.batches for part in self._parts)

    def __iter__(self) -> Iterator[list[int]]:
        """This process's share of each batch; the shares of all, in order, are the batch."""
        for batch in self._plan():
            share = len(batch) // self._world
            yield batch[self._rank * share : (self._rank + 1) * share].tolist()

    def _plan(self) -> list[Ints]:
        if self._planned[0] != self.epoch:
            made = [batch for part in self._parts for batch in part.plan(self.epoch)]
            order = generator(self._seed, self.epoch, _SHUFFLING).permutation(len(made))
            self._planned = self.epoch, [made[place] for place in order]
        return self._planned[1]


class _Marks:
    """What each row shows to the others of its batch, and what it bars: keys as `Bars` has them."""

    def __init__(self, rows: TrainingSet) -> None:
        bars, docs = rows.bars, rows.golds[:, None]
        self.golds = bars.kinds[rows.golds]
        if rows.negatives is not None:
            docs = np.column_stack([docs, rows.negatives])
        keys = bars.kinds[docs]
        if (bars.keys.values >= bars.count).any():  # single documents are barred, too
            keys = np.column_stack([keys, bars.count + docs])
        self.shown = Ragged(np.arange(len(rows) + 1) * keys.shape[1], keys.ravel())
        owners, barred = bars.keys.take(rows.asked)
        self.barred = Ragged(offsets_of(owners, len(rows)), barred)
        self._width = bars.count + len(bars.kinds)

    def clusters(self, groups: Ints) -> Ints:
        """The number of the cluster of each row; rows of a group that may not meet share it."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        each = np.arange(len(groups))
        showing, barring = np.repeat(each, self.shown.sizes), np.repeat(each, self.barred.sizes)
        shown, barred = self.shown.values, self.barred.values
        total = self._width
        if len(groups) and (groups != groups[0]).any():
            shown, barred = shown + groups[showing] * total, barred + groups[barring] * total
            known = np.sort(barred)
            known = known[np.concatenate([[True], known[1:] != known[:-1]])]
            total, barred = len(known), np.searchsorted(known, barred)
            at = np.minimum(np.searchsorted(known, shown), total - 1)
            showing, shown = showing[known[at] == shown], at[known[at] == shown]
        # A key that only one row has to do with, or that none bars, keeps nothing apart.
        shows, bars = np.bincount(shown, minlength=total), np.bincount(barred, minlength=total)
        first, second = np.zeros(total, np.int64), np.zeros(total, np.int64)
        first[shown], second[barred] = showing, barring
        active = (shows > 0) & (bars > 0) & ((shows + bars > 2) | (first != second))
        on_show, on_bar = active[shown], active[barred]
        owners = np.concatenate([showing[on_show], barring[on_bar]])
        keys = np.concatenate([shown[on_show], barred[on_bar]])
        count = len(groups) + total
        edges = coo_array(
            (np.ones(len(owners), np.bool_), (owners, len(groups) + keys)), (count, count)
        )
        labels = connected_components(edges, directed=False)[1]
        return np.asarray(labels[: len(groups)], np.int64)


class _Part:
    """The rows of one group.

    Attributes:
        batches: how many they make.
    """

    def __init__(
        self, rows: Ints, clusters: Ints, marks: _Marks | None, size: int, world: int,
        seed: tuple[int, int],
    ) -> None:  # fmt: skip
        self._rows, self._world, self._seed = rows, world, seed
        _, self._clusters, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
        self._largest = int(sizes.max(initial=0))
        self._one_by_one: _OneByOne | None = None
        self._known: Ints | None = None
        # A row for each process is a unit: batches have whole ones.
        self._units, most = len(rows) // world, size // world
        self.batches = -(-self._units // most)
        if marks is not None and self._largest > 1:
            self._search(marks, most)

    def __len__(self) -> int:
        return len(self._rows)

    def plan(self, epoch: int) -> list[Ints]:
        """The rows of each batch."""
        if not self.batches:
            return []
        random = generator(*self._seed, epoch, _PLACING)
        if self._largest == 1:
            awake = random.permutation(self._awake(epoch))
            return np.split(self._rows[awake], np.cumsum(self._room())[:-1])
        placed = self._known
        for attempt in range(_TRIES):
            found = self._place(random, epoch + attempt)
            if found is not None:
                placed = found
                break
        if placed is None:
            raise RuntimeError("rows that could always be placed could not")
        order = random.permutation(np.flatnonzero(placed >= 0))
        order = order[np.argsort(placed[order], kind="stable")]
        return np.split(self._rows[order], np.cumsum(self._room())[:-1])

    def _search(self, marks: _Marks, most: int) -> None:
        """Finds how many batches the rows make, and whether some must rest for it."""
        self._one_by_one = _OneByOne(marks, self._rows, self._clusters)
        count, world = len(self._rows), self._world
        same = int(np.unique(marks.golds[self._rows], return_counts=True)[1].max())
        if world > 1:
            # Of rows that bar one another a batch has one, so each takes others.
            others = count - same
            self._units = min(self._units, (others + others // (world - 1)) // world)
        while self._units:
            self.batches = max(-(-self._units // most), min(same, self._units))
            while not self._can_place():
                if self.batches == self._units:
                    break
                self.batches = min(self._units, self.batches + max(1, self.batches // 8))
            else:
                if self._known is None:
                    self._one_by_one = None  # what rows show and bar need not be held
                return
            self._units -= max(1, self._units // 16)
        self.batches = 0

    def _can_place(self) -> bool:
        """Whether the rows fit into the batches, as far as it was tried; keeps what succeeded."""
        if self._world == 1 and self._largest <= self.batches:
            return True  # dealing cannot fail
        for attempt in range(_TRIES):
            random = generator(*self._seed, _SEARCHING, self._units, self.batches, attempt)
            self._known = self._place(random, attempt)
            if self._known is not None:
                return True
        return False

    def _place(self, random: Generator, turn: int) -> Ints | None:
        """The batch of each row, -1 where it rests; None where not enough could be placed."""
        awake, room = self._awake(turn), self._room()
        if self._largest <= self.batches:
            dealt = _deal(self._clusters[awake], room, random)
            if dealt is not None:
                placed = np.full(len(self._rows), -1)
                placed[awake] = dealt
                return placed
        if self._one_by_one is None:
            return None
        return self._one_by_one.place(awake, room, random)

    def _room(self) -> Ints:
        """(batches,) how many rows each batch takes; they differ by a unit at most."""
        whole, rest = divmod(self._units, self.batches)
        return self._world * (whole + (np.arange(self.batches) < rest))

    def _awake(self, turn: int) -> Ints:
        """The rows that do not rest when it is others' turn."""
        rest = len(self._rows) - self._units * self._world
        each = np.arange(len(self._rows))
        if not rest:
            return each
        order = generator(*self._seed, _RESTING).permutation(len(each))
        return np.delete(each, order[(turn * rest + np.arange(rest)) % len(each)])


def _deal(clusters: Ints, room: Ints, random: Generator) -> Ints | None:
    """The batch of each row; rows of a cluster stand in different ones.

    Each cluster goes to the emptiest batches, of which chance takes one or another: that finds a
    way wherever there is one (Gale 1957, Ryser 1957).

    Args:
        clusters: (n,) the cluster of each row.
        room: rows that each batch takes, n together.

    Returns:
        (n,), or None where there is no way.
    """
    placed, sizes = np.empty(len(clusters), np.int64), np.bincount(clusters)
    alone = sizes[clusters] == 1
    order = random.permutation(np.flatnonzero(~alone))
    order = order[np.argsort(random.permutation(len(sizes))[clusters[order]], kind="stable")]
    cuts = np.flatnonzero(np.diff(clusters[order], prepend=-1, append=-1)).tolist()
    levels = _Levels(room, random)
    found: list[int] = []
    for begin, end in pairwise(cuts):
        taken = levels.take(end - begin)
        if taken is None:
            return None
        found += taken
    placed[order] = np.array(found, np.int64)
    left = np.repeat(np.arange(len(room)), room - np.bincount(placed[order], minlength=len(room)))
    placed[alone] = random.permutation(left)
    return placed


class _Levels:
    """Batches by how many rows they still take, those of a level in random order."""

    def __init__(self, room: Ints, random: Generator) -> None:
        self._by: list[list[int]] = [[] for _ in range(int(room.max(initial=0)) + 1)]
        for batch in random.permutation(len(room)).tolist():
            self._by[room[batch]].append(batch)
        self._chance = _chances(random)

    def take(self, count: int) -> list[int] | None:
        """Takes one row's room from each of the emptiest batches; None where too few have any."""
        level, taken = len(self._by) - 1, list[tuple[int, list[int]]]()
        while count:
            while level and not self._by[level]:
                level -= 1
            if not level:
                return None
            here = self._by[level]
            cut = max(0, len(here) - count)
            taken.append((level, here[cut:]))
            count -= len(here) - cut
            del here[cut:]
            level -= 1
        for level, batches in taken:
            for batch in batches:
                self._put(level - 1, batch)
        while len(self._by) > 1 and not self._by[-1]:
            self._by.pop()
        return [batch for _, batches in taken for batch in batches]

    def first(self, fits: Callable[[int], bool]) -> int | None:
        """Takes one row's room from the emptiest batch that fits, or gives None."""
        for level in range(len(self._by) - 1, 0, -1):
            here = self._by[level]
            for place in range(len(here) - 1, -1, -1):
                batch = here[place]
                if fits(batch):
                    here[place] = here[-1]
                    here.pop()
                    self._put(level - 1, batch)
                    return batch
        return None

    def room(self) -> Ints:
        """The batches that still take rows, each as often as it does."""
        return np.array([b for level, here in enumerate(self._by) for b in here for _ in range(level)],
                        np.int64)  # fmt: skip

    def _put(self, level: int, batch: int) -> None:
        here = self._by[level]
        place = int(next(self._chance) * (len(here) + 1))
        here.append(batch)
        here[place], here[-1] = here[-1], here[place]


def _chances(random: Generator) -> Iterator[float]:
    while True:
        yield from random.random(1 << 12).tolist()


class _OneByOne:
    """Places rows one by one, those with most conflicts first."""

    def __init__(self, marks: _Marks, rows: Ints, clusters: Ints) -> None:
        self._alone = np.bincount(clusters)[clusters] == 1
        self._marks, self._rows = marks, rows
        self._shown: list[frozenset[int]] = []
        self._barred: list[frozenset[int]] = []
        self._conflicts: NDArray[np.float64] = np.empty(0)

    def place(self, awake: Ints, room: Ints, random: Generator) -> Ints | None:
        """The batch of each row, -1 where it rests, or None where batches stay open.

        Rows that are not awake are taken where others do not fit.
        """
        self._prepare()
        count = len(self._rows)
        resting = np.ones(count, bool)
        resting[awake] = False
        hard = np.flatnonzero(~self._alone)
        order = hard[np.lexsort((random.random(len(hard)) - self._conflicts[hard], resting[hard]))]
        stuck: list[int] = []
        for _ in range(_TRIES):
            filling = _Filling(self._shown, self._barred, room, random)
            # What did not fit is placed first the next time.
            left = [row for row in dict.fromkeys([*stuck, *order.tolist()]) if not filling.add(row)]
            easy = random.permutation(np.flatnonzero(self._alone))
            easy = easy[np.argsort(resting[easy], kind="stable")]
            free = filling.levels.room()
            if len(free) <= len(easy):
                placed = np.full(count, -1)
                for batch, members in enumerate(filling.members):
                    placed[members] = batch
                placed[easy[: len(free)]] = random.permutation(free)
                return placed
            stuck = list(dict.fromkeys([*left, *stuck]))
        return None

    def _prepare(self) -> None:
        """What rows show and bar, as sets, and how many others each may not meet."""
        if self._shown:
            return
        owners, shown = self._marks.shown.take(self._rows)
        owner, barred = self._marks.barred.take(self._rows)
        keys, places = np.unique(np.concatenate([shown, barred]), return_inverse=True)
        one, two = places[: len(shown)], places[len(shown) :]
        shows, bars = np.bincount(one, minlength=len(keys)), np.bincount(two, minlength=len(keys))
        self._conflicts = np.zeros(len(self._rows))
        self._conflicts += np.bincount(owners, bars[one], len(self._rows))
        self._conflicts += np.bincount(owner, shows[two], len(self._rows))
        for keys_of, made in ((self._marks.shown, self._shown), (self._marks.barred, self._barred)):
            made += [frozenset(keys_of[row].tolist()) for row in self._rows]


class _Filling:
    """Batches that are being filled.

    Attributes:
        members: the rows of each.
        levels: the batches by their room.
    """

    def __init__(
        self, shown: list[frozenset[int]], barred: list[frozenset[int]], room: Ints, random: Generator
    ) -> None:  # fmt: skip
        self.members: list[list[int]] = [[] for _ in room]
        self.levels = _Levels(room, random)
        self._of_rows = shown, barred
        self._shows: list[Counter[int]] = [Counter() for _ in room]
        self._bars: list[Counter[int]] = [Counter() for _ in room]
        self._random = random
        self._refused: set[tuple[frozenset[int], frozenset[int]]] = set()

    def add(self, row: int) -> bool:
        """Puts a row into the emptiest batch that it may stand in; whether there was a way."""
        same = self._of_rows[0][row], self._of_rows[1][row]
        if same in self._refused:
            return False
        batch = self.levels.first(lambda batch: self._fits(row, batch))
        if batch is not None:
            self._put(row, batch)
        elif not self._swap(row):
            # Others with the same golds will not fit either, and there may be thousands of them.
            self._refused.add(same)
            return False
        return True

    def _swap(self, row: int) -> bool:
        """Puts a row into a full batch, and one of that batch's into another."""
        for batch in self._random.permutation(len(self.members))[:_SWAPS].tolist():
            if not self._fits(row, batch):
                continue
            for other in self.members[batch]:
                to = self.levels.first(lambda to, other=other: self._fits(other, to))  # type: ignore[misc]
                if to is not None:
                    self._remove(other, batch)
                    self._put(other, to)
                    self._put(row, batch)
                    return True
        return False

    def _fits(self, row: int, batch: int) -> bool:
        shown, barred = self._of_rows
        return self._bars[batch].keys().isdisjoint(shown[row]) and self._shows[
            batch
        ].keys().isdisjoint(barred[row])

    def _put(self, row: int, batch: int) -> None:
        self.members[batch].append(row)
        for tally, of in zip((self._shows, self._bars), self._of_rows, strict=True):
            tally[batch].update(of[row])

    def _remove(self, row: int, batch: int) -> None:
        self.members[batch].remove(row)
        for tally, of in zip((self._shows, self._bars), self._of_rows, strict=True):
            for key in of[row]:
                tally[batch][key] -= 1
                if not tally[batch][key]:
                    del tally[batch][key]

"""Sampling of the batches of an epoch.

With some losses the relevant documents and mined negatives of all rows of a batch serve every row
as negatives. If a stage has `apart`, rows that conflict (see `irtoolkit.training.conflicts`) are
then in different batches. Rows are dealt by clusters of conflicting rows; if a cluster has more
rows than there are batches, its rows are placed one by one.

The number of batches of an epoch is determined beforehand, so that it is the same in every epoch:
as many as the batch size and the largest number of mutually conflicting rows require, and more if
placing the rows fails. A placement that succeeded is kept for epochs in which another order fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.random import Generator

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.plurals import number_of
from irtoolkit.training.conflicts import Conflicts
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.negatives import random_generator
from irtoolkit.training.placing import TRIES, RowPlacer, deal
from irtoolkit.training.processes import ProcessRank
from irtoolkit.training.recipes import Stage
from irtoolkit.training.training_set import TrainingSet

_ALONE = ProcessRank()
# Purposes of random numbers, each with its own stream.
_PLACING, _SHUFFLING, _RESTING, _SEARCHING = range(4)


class BatchSampler:
    """Batches of row numbers that differ between epochs; a batch_sampler for torch.

    Each row is in one batch of an epoch. If several processes share the batches equally, rows that
    cannot be shared are left out of the epoch, and other rows in the next epoch. Of a group they
    are fewer than there are processes, unless its rows conflict with too many others.

    Attributes:
        epoch: number of the epoch, from 0.
    """

    def __init__(
        self,
        rows: TrainingSet,
        size: int,
        *,
        grouped: bool,
        apart: bool,
        seed: int,
        process: ProcessRank = _ALONE,
    ) -> None:
        """Determines the number of batches.

        Args:
            rows: the training set.
            size: largest number of rows of a batch, over all processes.
            grouped: whether all rows of a batch are of one group.
            apart: whether conflicting rows are in different batches.
            seed: seed of the order.
            process: rank of this process.

        Raises:
            InputError: a batch has fewer rows than there are processes.
        """
        world = process.world_size
        if size < max(1, world):
            raise InputError(
                f"a batch of {size} rows cannot be shared by {world} processes",
                remedy="raise batch",
            )
        self.epoch = 0
        self._seed, self._process = seed, process
        groups = rows.groups if grouped else np.zeros(len(rows), np.int64)
        order = np.argsort(groups, kind="stable")
        cuts = np.flatnonzero(np.diff(groups[order])) + 1
        conflicts = Conflicts(rows) if apart else None
        clusters = np.arange(len(rows)) if conflicts is None else conflicts.clusters(groups)
        self._groups = [
            _Group(members, clusters[members], conflicts, size, world, (seed, number))
            for number, members in enumerate(np.split(order, cuts))
        ]
        self._planned: tuple[int, list[Ints]] = (-1, [])

    @property
    def left_out(self) -> int:
        """Number of rows that are in no epoch, because their group makes no batch."""
        return sum(len(group) for group in self._groups if not group.batches)

    def have_two_documents(self, rows: TrainingSet) -> bool:
        """Returns whether a batch has rows with different relevant documents, as negatives need."""
        return any(
            group.largest_batch > 1
            and differ(rows.docs[int(gold)] for gold in rows.golds[group.rows])
            for group in self._groups
        )

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch whose batches are sampled."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Number of batches, the same in every epoch."""
        return sum(group.batches for group in self._groups)

    def __iter__(self) -> Iterator[list[int]]:
        """Yields this process's share of each batch; the shares of all processes make the batch."""
        for batch in self._plan():
            share = len(batch) // self._process.world_size
            begin = self._process.rank * share
            yield batch[begin : begin + share].tolist()

    def _plan(self) -> list[Ints]:
        if self._planned[0] != self.epoch:
            batches = [batch for group in self._groups for batch in group.plan(self.epoch)]
            order = random_generator(self._seed, self.epoch, _SHUFFLING).permutation(len(batches))
            self._planned = self.epoch, [batches[i] for i in order]
        return self._planned[1]


class _Group:
    """The rows of one group.

    Attributes:
        rows: numbers of the rows.
        batches: number of batches that they make.
    """

    def __init__(
        self,
        rows: Ints,
        clusters: Ints,
        conflicts: Conflicts | None,
        size: int,
        world: int,
        seed: tuple[int, int],
    ) -> None:
        self.rows, self._world, self._seed = rows, world, seed
        _, self._clusters, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
        self._largest = int(sizes.max(initial=0))
        self._placer: RowPlacer | None = None
        self._known: Ints | None = None
        # A unit is one row for each process; batches have whole units.
        self._units, most = len(rows) // world, size // world
        self.batches = -(-self._units // most)
        if conflicts is not None and self._largest > 1:
            self._search(conflicts, most)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def largest_batch(self) -> int:
        """Number of rows of its largest batch."""
        return int(self._room().max()) if self.batches else 0

    def plan(self, epoch: int) -> list[Ints]:
        """Returns the rows of each batch."""
        if not self.batches:
            return []
        random = random_generator(*self._seed, epoch, _PLACING)
        if self._largest == 1:
            active = random.permutation(self._active(epoch))
            return np.split(self.rows[active], np.cumsum(self._room())[:-1])
        placed = self._known
        for attempt in range(TRIES):
            batches = self._place(random, epoch + attempt)
            if batches is not None:
                placed = batches
                break
        if placed is None:
            raise RuntimeError("rows that can be placed in any order could not be placed")
        order = random.permutation(np.flatnonzero(placed >= 0))
        order = order[np.argsort(placed[order], kind="stable")]
        return np.split(self.rows[order], np.cumsum(self._room())[:-1])

    def _search(self, conflicts: Conflicts, most: int) -> None:
        """Determines the number of batches, and how many rows are left out of an epoch."""
        self._placer = RowPlacer(conflicts, self.rows, self._clusters)
        count, world = len(self.rows), self._world
        same = int(np.unique(conflicts.golds[self.rows], return_counts=True)[1].max())
        if world > 1:
            # A batch has at most one of the mutually conflicting rows, and others beside it.
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
                    self._placer = None  # frees the keys of the rows
                return
            self._units -= max(1, self._units // 16)
        self.batches = 0

    def _can_place(self) -> bool:
        """Returns whether a placement was found in a few tries; keeps it."""
        if self._world == 1 and self._largest <= self.batches:
            return True  # dealing cannot fail
        for attempt in range(TRIES):
            random = random_generator(*self._seed, _SEARCHING, self._units, self.batches, attempt)
            self._known = self._place(random, attempt)
            if self._known is not None:
                return True
        return False

    def _place(self, random: Generator, turn: int) -> Ints | None:
        """Returns the batch of each row, -1 for a row that is left out.

        None if batches stay open.
        """
        active, room = self._active(turn), self._room()
        if self._largest <= self.batches:
            dealt = deal(self._clusters[active], room, random)
            if dealt is not None:
                placed = np.full(len(self.rows), -1)
                placed[active] = dealt
                return placed
        return None if self._placer is None else self._placer.place(active, room, random)

    def _room(self) -> Ints:
        """Returns (batches,) number of rows of each batch; they differ by at most one unit."""
        whole, rest = divmod(self._units, self.batches)
        return self._world * (whole + (np.arange(self.batches) < rest))

    def _active(self, turn: int) -> Ints:
        """Returns the rows that are not left out in a turn; rows are left out in turns."""
        rest = len(self.rows) - self._units * self._world
        rows = np.arange(len(self.rows))
        if not rest:
            return rows
        order = random_generator(*self._seed, _RESTING).permutation(len(rows))
        return np.delete(rows, order[(turn * rest + np.arange(rest)) % len(rows)])


def check_contrast(stage: Stage, rows: TrainingSet, batches: BatchSampler) -> None:
    """Raises InputError if a loss over several documents has no two different ones to tell apart."""
    loss = LOSSES[stage.loss]
    if loss.shared and rows.negatives is None and not batches.have_two_documents(rows):
        raise InputError(
            f"there is no negative in any batch of the {number_of(len(rows), 'rows', ',')} of"
            f" {rows.what}: loss={loss.name} needs two different documents in a batch",
            remedy="train on more judged documents, or set loss=sampled, negatives=random and count",
        )
    if (loss.matrix or loss.corpus) and not differ(rows.docs):
        raise InputError(
            f"{rows.what} has no negative: all its documents are the same",
            remedy=f"loss={loss.name} needs two different documents",
        )


def differ(texts: Iterable[str]) -> bool:
    """Returns whether any two of some texts are different."""
    iterator = iter(texts)
    first = next(iterator, None)
    return any(text != first for text in iterator)

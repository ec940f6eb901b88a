"""The vector store: outputs of texts in shards, found by their keys without a table in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from irtoolkit.base import shared
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.locks import locked
from irtoolkit.models import keytable
from irtoolkit.models.keytable import KeyTable, Words, merged, words_of
from irtoolkit.models.shards import SUFFIX, Encodings, Shard, name_of

# Shards whose keys are in memory before they are written to a table.
_LOOSE = 16
_LOCK = "keys.lock"


class Store:
    """The shards of one folder: outputs of one model under one set of parameters.

    Keys are found by binary search in a few sorted tables that are mapped from disk, each at least
    twice as large as the next (O'Neil et al. 1996, §2, with whole tables merged at once). The keys
    of the newest shards are in memory. Opening lists the folder and reads no shard that a table
    has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shards = Shards(folder)
        self._sound: set[int] = set()
        # The largest first, so that what has been found once is found again.
        self._tables: list[KeyTable] = []
        # For each table, the number of each of its shards here.
        self._numbers: list[Ints] = []
        shared.fetch(folder, SUFFIX)
        self.refresh()

    def refresh(self) -> None:
        """Takes in the shards that have been written since."""
        files = _listed(self.folder)
        names = sorted(name for name in files if name.endswith(SUFFIX))
        self._open_tables([name for name in files if name.endswith(keytable.SUFFIX)])
        covered = set().union(*(table.names for table in self._tables))
        self._shards.alive = set(names)
        self._number()
        for name in names:
            if name not in covered:
                self._take(Shard(self.folder / name))
        self._compact()

    def add(self, shard: Shard) -> None:
        """Takes in a shard; of two that hold a text the first counts."""
        shared.share(shard.path)
        self._take(shard)
        self._compact()

    def has(self, keys: Sequence[bytes]) -> list[bool]:
        """Returns whether each key's output is stored and sound; deletes damaged shards."""
        words = words_of(keys)
        while True:
            shard, row = self._find(words)
            fresh = set(np.unique(shard).tolist()) - self._sound - {-1}
            damaged = [number for number in fresh if not self._shards[number].is_sound()]
            self._sound |= fresh - set(damaged)
            for number in damaged:
                self._forget(self._shards[number].path)
            if not damaged and self._agree(words, shard, row):
                return [bool(shard_number) for shard_number in shard >= 0]

    def rows(self, keys: Iterable[bytes]) -> Encodings:
        """Returns the outputs of texts, all of which are stored."""
        words = words_of(list(keys))
        for _ in range(2):
            shard, row = self._find(words)
            missing = np.flatnonzero(shard < 0)
            if len(missing):
                self._rebuild()  # what a damaged table says of a key depends on the others
            elif self._agree(words, shard, row):
                return Encodings(self._shards, shard, row)
        raise KeyError(f"key {missing[0]}" if len(missing) else "keys")

    @contextmanager
    def locked(self, keys: Sequence[bytes], wait: bool) -> Iterator[bool]:
        """Yields whether this process alone may now make the outputs of these texts.

        See `locked`.
        """
        with locked(self.folder / f"{name_of(keys)}.lock", wait, remove=True) as acquired:
            yield acquired

    def places(self, keys: Sequence[bytes]) -> tuple[Ints, Ints]:
        """Returns (n,) each key's shard in the tables, or -1, and (n,) the row.

        Nothing is checked.
        """
        return self._find(words_of(keys))

    def _find(self, keys: Words) -> tuple[Ints, Ints]:
        shard = np.full(len(keys), -1, np.int64)
        row = np.zeros(len(keys), np.int64)
        remaining = np.arange(len(keys))
        for table, numbers in zip(self._tables, self._numbers, strict=True):
            if not len(remaining):
                break
            entries, rows = table.find(keys[remaining])
            entries = np.where(
                entries < len(numbers), entries, -1
            )  # a damaged table may say anything
            shard_numbers = numbers[entries]
            shard_numbers[entries < 0] = -1
            shard[remaining], row[remaining] = shard_numbers, rows
            remaining = remaining[shard_numbers < 0]
        return shard, row

    def _agree(self, keys: Words, shard: Ints, row: Ints) -> bool:
        """Returns whether sound shards hold the keys as tables say; damaged tables are deleted."""
        order = np.argsort(shard, kind="stable")
        order = order[np.searchsorted(shard[order], 0) :]
        numbers, begins = np.unique(shard[order], return_index=True)
        parts = np.split(order, begins[1:])
        for number, rows in zip(numbers, parts, strict=len(numbers) > 0):
            words = self._shards[int(number)].words()
            if (row[rows] >= len(words)).any() or (words[row[rows]] != keys[rows]).any():
                self._rebuild()
                return False
        return True

    def _rebuild(self) -> None:
        """Rebuilds all tables from the shards."""
        for table in self._tables:
            if table.path is not None:
                with suppress(OSError):
                    table.path.unlink()
        self._tables, self._numbers = [], []
        self.refresh()

    def _take(self, shard: Shard) -> None:
        name = shard.path.name
        try:
            table = KeyTable.of(name, shard.words())
        except Exception:  # Arrow has many for a damaged file: nothing of it can be used
            if shard.is_sound():
                raise
            self._forget(shard.path)
            return
        self._shards.alive.add(name)

        self._tables.append(table)
        self._numbers.append(self._shards.numbers(table.names))

    def _number(self) -> None:
        self._numbers = [self._shards.numbers(table.names) for table in self._tables]

    def _forget(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._shards.forget(path.name)
        self._number()

    def _open_tables(self, names: list[str]) -> None:
        """Opens the tables of the folder that say something that larger ones do not."""
        opened = {table.path.name for table in self._tables if table.path is not None}
        fresh = [keytable.read(self.folder / name) for name in names if name not in opened]
        tables = [*self._tables, *(table for table in fresh if table is not None)]
        if len(tables) == len(self._tables):
            return
        covered: set[str] = set()
        self._tables = []
        for table in sorted(tables, key=len, reverse=True):
            if not covered.issuperset(table.names):
                covered.update(table.names)
                self._tables.append(table)

    def _compact(self) -> None:
        """Merges the tables that are in memory with those on disk that are no larger, if they are many."""
        joined = [table for table in self._tables if table.path is None]
        if len(joined) < _LOOSE:
            return
        tables = [table for table in self._tables if table.path is not None]
        rows = sum(map(len, joined))
        while tables and len(tables[-1]) <= 2 * rows:
            table = tables.pop()
            joined, rows = [table, *joined], rows + len(table)
        try:
            with locked(self.folder / _LOCK, wait=False, remove=True) as acquired:
                joined_table = merged(joined, self._shards.alive, self.folder if acquired else None)
        except InputError:  # a folder that cannot be written, or a full disk
            joined_table = merged(joined, self._shards.alive)
        self._tables = [*tables, joined_table]
        self._number()
        for table in joined if joined_table.path is not None else ():
            if table.path is not None and table.path != joined_table.path:
                with suppress(OSError):  # Windows keeps a file that another process has mapped
                    table.path.unlink()


class Shards(Sequence[Shard]):
    """The shards of a folder by number, each opened when it is used.

    Attributes:
        alive: file names of those that are there.
    """

    def __init__(self, folder: Path) -> None:
        self.alive: set[str] = set()
        self._folder = folder
        self._names: list[str] = []
        self._number: dict[str, int] = {}
        self._open: dict[int, Shard] = {}

    def numbers(self, names: Sequence[str]) -> Ints:
        """Returns the number of each named shard; -1 if there is no such shard."""
        fresh = [name for name in names if name not in self._number]
        self._number.update(zip(fresh, range(len(self), len(self) + len(fresh)), strict=True))
        self._names += fresh
        numbers = np.fromiter(map(self._number.__getitem__, names), np.int64, len(names))
        if not self.alive.issuperset(names):
            numbers[[name not in self.alive for name in names]] = -1
        return numbers

    def forget(self, name: str) -> None:
        """Takes note that a shard has been deleted."""
        self.alive.discard(name)
        self._open.pop(self._number.get(name, -1), None)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, number: int) -> Shard:  # type: ignore[override]
        if number not in self._open:
            self._open[number] = Shard(self._folder / self._names[number])
        return self._open[number]


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []

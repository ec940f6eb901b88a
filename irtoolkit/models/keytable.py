"""Sorted keys of texts with the locations of their outputs, in memory or mapped from a file.

A table is derived from shards. Its file can be deleted at any time, and its entry for a text is
compared with the key that the shard itself holds, so damage never yields another text's output.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.files import atomic_path
from irtoolkit.base.ids import Ints

Words = NDArray[np.uint64]

SUFFIX = ".keys"
# Raised by hand when the layout of the file changes; others are deleted.
FORMAT = 1
_MAGIC = b"irtoolkit keys\n"
# Keys that are merged at once: some 100 MB.
_MERGED = 1 << 21
_ROW_BITS = 32
_ROW = (1 << _ROW_BITS) - 1


def words_of(keys: Sequence[bytes]) -> Words:
    """Returns (n, 2) keys of 16 bytes as numbers of the same order."""
    return np.frombuffer(b"".join(keys), ">u8").reshape(-1, 2).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Keys in ascending order, each once.

    Attributes:
        names: file names of the shards.
        high, low: (n,) the first and the last 8 bytes of each key.
        place: (n,) which shard holds it, and there which row, in one number.
        path: the file that this is mapped from.
    """

    names: tuple[str, ...]
    high: Words
    low: Words
    place: Ints
    path: Path | None = None

    @classmethod
    def of(cls, name: str, keys: Words) -> KeyTable:
        """Returns the table of one shard; of a key that is repeated the first row counts."""
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        high, low = keys[order].T
        return cls((name,), *_first(high, low, order.astype(np.int64)))

    def __len__(self) -> int:
        return len(self.high)

    def find(self, keys: Words) -> tuple[Ints, Ints]:
        """Returns (n,) the number of each key's shard, or -1, and (n,) the row there."""
        order = np.argsort(keys[:, 0])  # neighbours are in the same pages
        numbers = np.full(len(keys), -1, np.int64)
        if len(self):
            high, low = keys[order].T
            index = np.searchsorted(self.high, high)
            remaining = np.arange(len(index))
            while len(remaining):  # one turn, but for keys with the same first half
                remaining = remaining[index[remaining] < len(self)]
                remaining = remaining[self.high[index[remaining]] == high[remaining]]
                same = self.low[index[remaining]] == low[remaining]
                numbers[order[remaining[same]]] = self.place[index[remaining[same]]]
                remaining = remaining[~same]
                index[remaining] += 1
        return np.where(numbers < 0, -1, numbers >> _ROW_BITS), numbers & _ROW


def merged(
    tables: Sequence[KeyTable], alive: Collection[str], folder: Path | None = None
) -> KeyTable:
    """Merges several tables into one, in memory or, given a folder, in a file there.

    A key that several tables hold is taken from the first of them. Only shards that are alive
    count.

    Raises:
        InputError: the disk refuses.
    """
    all_names = (name for table in tables for name in table.names)
    names = tuple(dict.fromkeys(name for name in all_names if name in alive))
    number = {name: i for i, name in enumerate(names)}
    moved = [np.array([number.get(name, -1) for name in table.names] or [-1]) for table in tables]
    if folder is not None:
        count = sum(map(len, tables))
        return _write(folder, names, _in_order(tables, moved), count)
    high, low, order = map(np.concatenate, zip(*_in_order(tables, moved), strict=True))
    return KeyTable(names, high, low, order)


def _in_order(
    tables: Sequence[KeyTable], moved: Sequence[Ints]
) -> Iterator[tuple[Words, Words, Ints]]:
    """Yields the rows of all tables in ascending order, a part of all possible keys at a time."""
    parts = max(1, -(-sum(map(len, tables)) // _MERGED))
    bounds = [i * (1 << 64) // parts for i in range(1, parts)]
    cuts = [
        [0, *np.searchsorted(table.high, np.array(bounds, np.uint64)).tolist(), len(table)]
        for table in tables
    ]
    for part in range(parts):
        high, low, place = [], [], []
        for table, own, cut in zip(tables, moved, cuts, strict=True):
            rows = slice(cut[part], cut[part + 1])
            there = table.place[rows]
            # A damaged table may name a shard that it does not have.
            number = own[np.clip(there >> _ROW_BITS, 0, len(own) - 1)]
            kept = number >= 0
            high.append(table.high[rows][kept])
            low.append(table.low[rows][kept])
            place.append((number << _ROW_BITS | there & _ROW)[kept])
        highs, lows = np.concatenate(high), np.concatenate(low)
        order = np.lexsort((lows, highs))  # stable, so the first table's come first
        yield _first(highs[order], lows[order], np.concatenate(place)[order])


def _first(high: Words, low: Words, place: Ints) -> tuple[Words, Words, Ints]:
    new = np.ones(len(high), bool)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return high[new], low[new], place[new]


def _write(folder: Path, names: tuple[str, ...], parts: Any, most: int) -> KeyTable:
    """Writes rows as they come. Each column has room for `most`, of which a file system keeps holes."""
    listed = json.dumps(names).encode()
    path = folder / f"{hashlib.sha256(listed).hexdigest()[:32]}{SUFFIX}"
    begin = -(-(len(_MAGIC) + 4 * 8 + len(listed)) // 8) * 8
    with atomic_path(path) as temporary, open(temporary, "wb") as out:
        count = 0
        for columns in parts:
            for i, column in enumerate(columns):
                out.seek(begin + 8 * (i * most + count))
                out.write(np.ascontiguousarray(column).data)
            count += len(columns[0])
        out.truncate(begin + 24 * most)
        out.seek(0)
        out.write(_MAGIC + np.array([FORMAT, len(listed), most, count], "<u8").tobytes() + listed)
    found = read(path)
    assert found is not None
    return found


def read(path: Path) -> KeyTable | None:
    """Returns a table mapped from its file; None if the file is damaged or of another format."""
    try:
        with open(path, "rb") as file:
            head = file.read(len(_MAGIC) + 32)
            form, listed, most, count = np.frombuffer(head[len(_MAGIC) :], "<u8").tolist()
            if not head.startswith(_MAGIC) or form != FORMAT or count > most:
                return None
            names = tuple(json.loads(file.read(listed)))
        begin = -(-(len(_MAGIC) + 32 + listed) // 8) * 8
        if path.stat().st_size != begin + 24 * most:
            return None
        high, low, place = (
            _mapped(path, kind, begin + 8 * i * most, count)
            for i, kind in enumerate((np.uint64, np.uint64, np.int64))
        )
        return KeyTable(names, high, low, place, path)
    except (OSError, ValueError, TypeError):
        return None


def _mapped(path: Path, kind: type, begin: int, count: int) -> NDArray[Any]:
    # Nothing cannot be mapped.
    return np.memmap(path, kind, "r", begin, (count,)) if count else np.empty(0, kind)

"""Shards of vectors: one for each document, or one for each of its sentences or tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from irtoolkit.base.ids import Floats, Ints, Singles
from irtoolkit.indexes.bounds import check_finite, check_starts
from irtoolkit.indexes.rounding import KINDS, Packed, VectorPrecision, packed
from irtoolkit.indexes.strings import mapped

# What int8 vectors are multiplied by at most, so that they are finite.
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 128
# Numbers of vectors that are compared at once: 2^22 singles are 16 MiB.
_NUMBERS = 1 << 22


class VectorShard:
    """The vectors of some documents, rounded as `irtoolkit.indexes.rounding` says.

    Attributes:
        vectors: (r, dimensions) of all documents end to end, in memory or mapped from a folder.
        scales: (r,) what int8 vectors are multiplied by, or None.
        squares: (r,) the squared length of each vector.
        starts: (d+1,) where the vectors of each document begin.
        is_mapped: whether they are on disk.
    """

    def __init__(self, rows: Packed, starts: Ints) -> None:
        self.vectors, self.scales, self.squares = rows
        self.starts = starts
        self.is_mapped = False
        # What stays in memory with the vectors, to multiply them fast.
        self.prepared: dict[bool, Any] = {}

    @classmethod
    def open(cls, folder: Path) -> VectorShard:
        """Returns the shard of a folder.

        Raises:
            DamagedIndexError: its arrays do not fit each other.
        """
        vectors, starts, squares = (
            mapped(folder / f"{name}.npy")
            for name in ("vectors", "vector-starts", "vector-squares")
        )
        check_finite(vectors, folder / "vectors.npy", (None, None))
        rows = len(vectors)
        check_starts(starts, None, rows, folder / "vector-starts.npy")
        check_finite(squares, folder / "vector-squares.npy", (rows,), most=np.inf)
        scales = None
        if (folder / "scales.npy").is_file():
            scales = mapped(folder / "scales.npy")
            check_finite(scales, folder / "scales.npy", (rows,), most=_LARGEST_SCALE)
            scales = scales.astype(np.float32, copy=False)
        shard = cls(Packed(vectors, scales, squares), starts)
        shard.is_mapped = True
        return shard

    @classmethod
    def of(
        cls, blocks: Iterable[tuple[Any, Ints]], stored: VectorPrecision = "fp32"
    ) -> VectorShard:
        """Returns a shard in memory.

        Args:
            blocks: vectors of some documents end to end, and how many each of them has.
            stored: their precision.
        """
        parts, sizes = [packed(np.empty((0, 0), np.float32), stored)], [np.zeros(1, np.int64)]
        for vectors, counts in blocks:
            parts.append(packed(vectors, stored))
            sizes.append(np.asarray(counts, np.int64))
        # An array of one part is not copied.
        rows = parts[-1] if len(parts) == 2 else _joined(parts[1:] or parts)
        return cls(rows, np.cumsum(np.concatenate(sizes)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def has_one_each(self) -> bool:
        """Whether every document has one vector."""
        return len(self.vectors) == len(self) and bool((np.diff(self.starts) == 1).all())

    @cached_property
    def singles(self) -> Singles:
        """(r, dimensions) all vectors in single precision."""
        is_single = self.scales is None and self.vectors.dtype == np.float32
        return self.vectors if is_single else self.rows(0, len(self.vectors))

    @cached_property
    def longest(self) -> float:
        """The greatest length of a vector."""
        return float(np.sqrt(self.squares.max(initial=0)))

    def rows(self, first: int, last: int) -> Singles:
        """(n, dimensions) some vectors in single precision."""
        rows = np.asarray(self.vectors[first:last], np.float32)
        return rows if self.scales is None else rows * self.scales[first:last, None]

    def chosen(self, rows: Ints) -> Singles:
        """(n, dimensions) the vectors of some rows in single precision."""
        vectors = np.asarray(self.vectors[rows], np.float32)
        return vectors if self.scales is None else vectors * self.scales[rows, None]

    def of_documents(self, documents: Ints) -> VectorShard:
        """Returns a shard in memory of some documents."""
        counts = self.starts[documents + 1] - self.starts[documents]
        rows = gathered(self.starts[documents], counts)
        vectors = np.asarray(self.chosen(rows))
        return VectorShard(
            Packed(vectors, None, np.asarray(self.squares[rows])),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )

    def blocks(self, numbers: int = _NUMBERS) -> Iterator[tuple[int, int]]:
        """Documents, first and last + 1, whose vectors are compared at once."""
        most = max(1, numbers // max(1, self.vectors.shape[1]))
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.starts, self.starts[first] + most, side="right")) - 1
            last = min(len(self), max(first + 1, last))
            yield first, last
            first = last


class VectorsWriter:
    """Writes vectors to a folder as they come."""

    def __init__(self, folder: Path, stored: VectorPrecision) -> None:
        self._folder, self._stored = folder, stored
        self._file = open(folder / "vectors.raw", "wb")  # noqa: SIM115 closed by close
        self._scales: list[Singles] = []
        self._counts: list[Ints] = []
        self._squares: list[Floats] = []
        self._width = 0
        self.bytes = 0

    def add(self, vectors: Singles, counts: Ints) -> None:
        """Appends the vectors of some documents, which have so many each."""
        self._append(packed(vectors, self._stored), counts)

    def copy(self, shard: VectorShard, rows: Ints, counts: Ints) -> None:
        """Appends vectors of another shard as they are stored there."""
        scales = None if shard.scales is None else shard.scales[rows]
        self._append(Packed(shard.vectors[rows], scales, shard.squares[rows]), counts)

    def _append(self, part: Packed, counts: Ints) -> None:
        self._width = self._width or part.vectors.shape[1]
        self._file.write(np.ascontiguousarray(part.vectors).data)
        self._counts.append(np.asarray(counts, np.int64))
        self._squares.append(part.squares)
        if part.scales is not None:
            self._scales.append(part.scales)
        self.bytes += part.vectors.nbytes

    def close(self) -> None:
        """Ends the arrays."""
        self._file.close()
        counts = np.concatenate([np.zeros(0, np.int64), *self._counts])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        np.save(self._folder / "vector-starts.npy", starts)
        np.save(self._folder / "vector-squares.npy", np.concatenate([np.empty(0), *self._squares]))
        if self._stored == "int8":
            scales = np.concatenate([np.zeros(0, np.float32), *self._scales])
            np.save(self._folder / "scales.npy", scales)
        raw, kind = self._folder / "vectors.raw", np.dtype(KINDS[self._stored])
        shape = (int(starts[-1]), self._width)
        if not shape[0] or not shape[1]:
            np.save(self._folder / "vectors.npy", np.empty(shape, kind))
        else:
            out = open_memmap(self._folder / "vectors.npy", "w+", kind, shape)
            out[:] = np.memmap(raw, kind, "r", shape=shape)
            out.flush()
        raw.unlink()


def _joined(parts: Sequence[Packed]) -> Packed:
    scales = (
        None
        if parts[0].scales is None
        else np.concatenate([p.scales for p in parts if p.scales is not None])
    )
    return Packed(
        np.concatenate([part.vectors for part in parts]), scales,
        np.concatenate([part.squares for part in parts]),
    )  # fmt: skip


def merge_vectors(shards: Sequence[VectorShard], places: Sequence[Ints], folder: Path) -> None:
    """Writes the vectors of all documents as one shard; `places` are their new numbers, or -1."""
    kinds: dict[Any, VectorPrecision] = {np.dtype(kind): name for name, kind in KINDS.items()}
    stored = kinds[shards[0].vectors.dtype]
    # Codes are copied as they are: to scale and round them again would change them.
    writer = VectorsWriter(folder, stored)
    for shard, numbers in zip(shards, places, strict=True):
        for first, last in shard.blocks():
            live = np.flatnonzero(numbers[first:last] >= 0) + first
            counts = shard.starts[live + 1] - shard.starts[live]
            rows = gathered(shard.starts[live], counts)
            writer.copy(shard, rows, counts)
    writer.close()


def gathered(starts: Ints, counts: Ints) -> Ints:
    """The numbers of the vectors of some documents."""
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    return np.repeat(starts - begins, counts) + np.arange(int(counts.sum()))


def runs_of_texts(starts: Ints, most: int) -> list[tuple[int, int]]:
    """Runs of texts, (first, past the last), of at most so many tokens, or of one text."""
    runs, first, count = [], 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = min(count, max(first + 1, last))
        runs.append((first, last))
        first = last
    return runs

"""Shards of vectors: one for each document, or one for each of its sentences or tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap

from irtoolkit.base.ids import Floats, Ints, Singles
from irtoolkit.indexes.bounds import check_finite, check_starts
from irtoolkit.indexes.strings import mapped

Stored = Literal["fp32", "fp16", "int8"]
_KINDS: dict[Stored, Any] = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}
# Numbers of vectors that are compared at once: 2^22 singles are 16 MiB.
_NUMBERS = 1 << 22


class VectorShard:
    """The vectors of some documents, mapped from a folder.

    Attributes:
        vectors: (r, dimensions) of all documents end to end.
        scales: (r,) what int8 vectors are multiplied by, or None.
        starts: (d+1,) where the vectors of each document begin.
        sizes: (r,) the length of each vector.
    """

    def __init__(self, folder: Path) -> None:
        self.vectors = mapped(folder / "vectors.npy")
        scaled = (folder / "scales.npy").is_file()
        self.scales: Singles | None = mapped(folder / "scales.npy") if scaled else None
        self.starts: Ints = mapped(folder / "vector-starts.npy")
        self.sizes: Singles = mapped(folder / "vector-sizes.npy")
        check_finite(self.vectors, folder / "vectors.npy", (None, None))
        rows = len(self.vectors)
        check_starts(self.starts, None, rows, folder / "vector-starts.npy")
        check_finite(self.sizes, folder / "vector-sizes.npy", (rows,))
        if self.scales is not None:
            check_finite(self.scales, folder / "scales.npy", (rows,))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, first: int, last: int) -> Singles:
        """(n, dimensions) some vectors in single precision."""
        rows = np.asarray(self.vectors[first:last], np.float32)
        return rows if self.scales is None else rows * self.scales[first:last, None]

    def chosen(self, rows: Ints) -> Singles:
        """(n, dimensions) the vectors of some rows in single precision."""
        found = np.asarray(self.vectors[rows], np.float32)
        return found if self.scales is None else found * self.scales[rows, None]

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Documents, first and last + 1, whose vectors are compared at once."""
        most = max(1, _NUMBERS // max(1, self.vectors.shape[1]))
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.starts, self.starts[first] + most, side="right")) - 1
            last = min(len(self), max(first + 1, last))
            yield first, last
            first = last


class VectorsWriter:
    """Writes vectors to a folder as they come; an int8 vector has a scale."""

    def __init__(self, folder: Path, stored: Stored) -> None:
        self._folder, self._stored = folder, stored
        self._file = open(folder / "vectors.raw", "wb")  # noqa: SIM115 closed by close
        self._scales: list[Singles] = []
        self._counts: list[Ints] = []
        self._sizes: list[Singles] = []
        self._width = 0
        self.bytes = 0

    def add(self, vectors: Singles, counts: Ints) -> None:
        """Appends the vectors of some documents, which have so many each."""
        self._width = self._width or vectors.shape[1]
        if self._stored == "int8":
            scales = np.abs(vectors).max(axis=-1, initial=0) / np.float32(127)
            self._scales.append(scales.astype(np.float32))
            vectors = np.rint(vectors / np.where(scales > 0, scales, 1)[:, None])
        packed = np.ascontiguousarray(vectors, _KINDS[self._stored])
        self._file.write(packed.data)
        self._counts.append(np.asarray(counts, np.int64))
        wide = packed.astype(np.float32)
        sizes = np.linalg.norm(wide, axis=1).astype(np.float32)
        self._sizes.append(sizes * self._scales[-1] if self._stored == "int8" else sizes)
        self.bytes += packed.nbytes

    def copy(self, shard: VectorShard, rows: Ints, counts: Ints) -> None:
        """Appends vectors of another shard as they are stored there."""
        self._width = shard.vectors.shape[1]
        if shard.scales is not None:
            self._scales.append(shard.scales[rows])
        self._file.write(np.ascontiguousarray(shard.vectors[rows]).data)
        self._counts.append(counts)
        self._sizes.append(shard.sizes[rows])

    def close(self) -> None:
        """Ends the arrays."""
        self._file.close()
        counts = np.concatenate([np.zeros(0, np.int64), *self._counts])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        np.save(self._folder / "vector-starts.npy", starts)
        sizes = np.concatenate([np.zeros(0, np.float32), *self._sizes])
        np.save(self._folder / "vector-sizes.npy", sizes)
        if self._stored == "int8":
            scales = np.concatenate([np.zeros(0, np.float32), *self._scales])
            np.save(self._folder / "scales.npy", scales)
        raw, kind = self._folder / "vectors.raw", np.dtype(_KINDS[self._stored])
        shape = (int(starts[-1]), self._width)
        if not shape[0] or not shape[1]:
            np.save(self._folder / "vectors.npy", np.empty(shape, kind))
        else:
            out = open_memmap(self._folder / "vectors.npy", "w+", kind, shape)
            out[:] = np.memmap(raw, kind, "r", shape=shape)
            out.flush()
        raw.unlink()


def merge_vectors(shards: Sequence[VectorShard], places: Sequence[Ints], folder: Path) -> None:
    """Writes the vectors of all documents as one shard; `places` are their new numbers, or -1."""
    kinds: dict[Any, Stored] = {np.dtype(kind): name for name, kind in _KINDS.items()}
    stored = kinds[shards[0].vectors.dtype]
    # Codes are copied as they are: to scale and round them again would change them.
    writer = VectorsWriter(folder, stored)
    for shard, place in zip(shards, places, strict=True):
        for first, last in shard.blocks():
            kept = np.flatnonzero(place[first:last] >= 0) + first
            counts = shard.starts[kept + 1] - shard.starts[kept]
            rows = gathered(shard.starts[kept], counts)
            writer.copy(shard, rows, counts)
    writer.close()


def gathered(starts: Ints, counts: Ints) -> Ints:
    """The numbers of the vectors of some documents."""
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    return np.repeat(starts - begins, counts) + np.arange(int(counts.sum()))


@dataclass(frozen=True)
class Comparison:
    """How documents are scored by their vectors.

    A vector of the query counts with its most similar vector of the document.

    Attributes:
        similarity: "cosine", "dot" or "l2", the negated distance.
        total: whether the query's vectors are summed, else the greatest counts.
        average: whether the sum is divided by the number of the query's vectors.
        without: the similarity of a document without vectors.
    """

    similarity: Literal["cosine", "dot", "l2"]
    total: bool = False
    average: bool = False
    without: float = -1.0

    def exact(self, query: Singles, doc: Singles) -> float:
        """The score of a document, in double precision: the same wherever it is."""
        if not len(doc):
            best = np.full(len(query), self.without)
        else:
            # Row by row, so that no block decides the order in which products are added.
            best = np.array([self._similarities(row, doc).max() for row in query.astype(float)])
        score = best.sum() if self.total else best.max()
        return float(score / len(query) if self.average else score)

    def exact_each(self, query: Singles, docs: Singles) -> Floats:
        """(n,) the scores of documents that have one vector each, given a query that has one."""
        return self._similarities(query[0].astype(np.float64), docs)

    def _similarities(self, row: Floats, docs: Singles) -> Floats:
        from irtoolkit.indexes._compiled_vectors import compare

        found, squares = np.empty(len(docs)), np.empty(len(docs))
        compare(row, np.ascontiguousarray(docs), self.similarity == "l2", found, squares)
        if self.similarity == "l2":
            far: Floats = -np.sqrt(found)
            return far
        if self.similarity == "dot":
            return found
        lengths = np.sqrt(squares) * np.sqrt((row * row).sum())
        return np.asarray(found / np.where(lengths > 0, lengths, 1))

    def block(
        self, queries: QueryVectors, docs: Any, sizes: Any, starts: Ints
    ) -> tuple[Any, Floats]:
        """(q, d) scores of a block of documents in single precision, and how far off each query's
        may be; `sizes` are the lengths of the documents' vectors."""
        asked: Any = queries.vectors
        if not len(docs):
            docs = np.empty((0, asked.shape[1]), np.float32)
        unit = np.finfo(np.float32).eps * docs.shape[1] * 2
        lengths: Any = np.linalg.norm(asked, axis=1)
        greatest = float(sizes.max(initial=0))
        products: Any = asked @ docs.T
        if self.similarity == "cosine":
            products *= (1 / np.where(sizes > 0, sizes, np.float32(1)))[None, :]
            products *= (1 / np.where(lengths > 0, lengths, np.float32(1)))[:, None]
            off = np.full(len(asked), unit)
        else:
            off = unit * lengths * greatest
        if self.similarity == "l2":
            squares = (lengths**2)[:, None] - 2 * products + (sizes**2)[None, :]
            wrong = unit * (lengths + greatest) ** 2
            products = -np.sqrt(np.maximum(squares, 0))
            # A root amplifies the error of a small square.
            off = np.sqrt(wrong)
        if not (np.diff(starts) == 1).all():
            filled = starts[1:] > starts[:-1]
            best = np.full((len(asked), len(filled)), self.without, products.dtype)
            if filled.any():
                best[:, filled] = np.maximum.reduceat(products, starts[:-1][filled], axis=1)
            products = best
        gather: Any = np.add if self.total else np.maximum
        if not (np.diff(queries.starts) == 1).all():
            products = gather.reduceat(products, queries.starts[:-1], axis=0)
            off = gather.reduceat(off, queries.starts[:-1])
        if self.average:
            counts = np.diff(queries.starts)
            products, off = products / counts[:, None], off / counts
        return products, np.asarray(off, np.float64) * (1 + 1e-3) + 1e-12


class QueryVectors(NamedTuple):
    """The vectors of some queries, and how documents are compared with them.

    Attributes:
        vectors: (r, dimensions) of all queries end to end.
        starts: (q+1,) where the vectors of each query begin.
        comparison: how documents are scored.
    """

    vectors: Singles
    starts: Ints
    comparison: Comparison

    def of(self, query: int) -> Singles:
        """The vectors of one query."""
        return self.vectors[self.starts[query] : self.starts[query + 1]]

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.starts) - 1

    def some(self, first: int, last: int) -> QueryVectors:
        """Some queries that follow each other."""
        begin, end = self.starts[first], self.starts[last]
        rows = self.vectors[begin:end]
        return QueryVectors(rows, self.starts[first : last + 1] - begin, self.comparison)

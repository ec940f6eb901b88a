"""Shards of impacts: which documents have a term, and the weight that a model gave it there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.bounds import DamagedIndexError, check_finite, check_numbers, check_starts
from irtoolkit.indexes.strings import mapped, reserved

# Bytes that a weight takes while its shard is made.
_POSTING = 24


class ImpactShard:
    """The term weights of some documents, mapped from a folder.

    Attributes:
        terms: (t,) numbers of the terms that occur, ascending.
        starts: (t+1,) where the postings of each term begin.
        documents: (p,) numbers of documents, ascending for each term.
        weights: (p,) as the model gave them.
    """

    def __init__(self, folder: Path) -> None:
        self.terms: Ints = mapped(folder / "term-numbers.npy")
        self.starts: Ints = mapped(folder / "starts.npy")
        self.documents: NDArray[np.int32] = mapped(folder / "documents.npy")
        self.weights: Singles = mapped(folder / "weights.npy")
        self._check(folder)

    def _check(self, folder: Path) -> None:
        size = len(self.documents)
        check_numbers(self.terms, 0, 1 << 62, folder / "term-numbers.npy")
        if (self.terms[1:] <= self.terms[:-1]).any():
            file = folder / "term-numbers.npy"
            raise DamagedIndexError("damaged: its numbers do not ascend", file=file)
        check_starts(self.starts, len(self.terms), size, folder / "starts.npy")
        check_finite(self.weights, folder / "weights.npy", (size,))

    def check_documents(self, count: int, folder: Path) -> None:
        """Raises DamagedIndexError where a number is not one of so many documents."""
        check_numbers(self.documents, 0, count, folder / "documents.npy")

    def places(self, terms: Ints) -> Ints:
        """(n,) the place of each term among the shard's, or -1."""
        return places_of(self.terms, terms)


def places_of(sorted_terms: Ints, terms: Ints) -> Ints:
    """(n,) the place of each term among known ones, which ascend, or -1."""
    if not len(sorted_terms):
        return np.full(len(terms), -1, np.int64)
    positions = np.minimum(np.searchsorted(sorted_terms, terms), len(sorted_terms) - 1)
    return np.where(sorted_terms[positions] == terms, positions, -1)


class ImpactsWriter:
    """Writes the term weights of documents to a folder as they come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[tuple[Ints, Singles, Ints]] = []
        self.bytes = 0

    def add(self, terms: Ints, weights: Singles, counts: Ints) -> None:
        """Appends the terms of some documents, which have so many each, with their weights."""
        self._parts.append((np.asarray(terms, np.int64), np.asarray(weights, np.float32), counts))
        self.bytes += _POSTING * len(terms)

    def close(self) -> None:
        """Writes the arrays."""
        from irtoolkit.indexes._compiled_postings import append_impacts

        term_numbers = np.concatenate([np.empty(0, np.int64), *(part[0] for part in self._parts)])
        terms, frequencies = np.unique(term_numbers, return_counts=True)
        starts, out = _begun(self._folder, terms, frequencies)
        cursors, first = starts[:-1].copy(), 0
        for numbers, weights, counts in self._parts:
            places = np.searchsorted(terms, numbers)
            append_impacts(first, places, weights, np.cumsum(counts), cursors, out)
            first += len(counts)
        self._parts.clear()
        _flush(out)


def merge_impacts(shards: Sequence[ImpactShard], places: Sequence[Ints], folder: Path) -> None:
    """Writes the term weights of all documents as one shard; `places` are their new numbers, or -1."""
    from irtoolkit.indexes._compiled_postings import copy_impacts, live_postings

    lives = [np.empty(len(shard.terms), np.int64) for shard in shards]
    for shard, numbers, live in zip(shards, places, lives, strict=True):
        live_postings(shard.starts, shard.documents, numbers, live)
    used = [shard.terms[live > 0] for shard, live in zip(shards, lives, strict=True)]
    terms = np.unique(np.concatenate([np.empty(0, np.int64), *used]))
    targets, frequencies = [], np.zeros(len(terms), np.int64)
    for shard, live in zip(shards, lives, strict=True):
        target = np.where(live > 0, np.searchsorted(terms, shard.terms), -1)
        frequencies[target[live > 0]] += live[live > 0]
        targets.append(target)
    starts, out = _begun(folder, terms, frequencies)
    cursors = starts[:-1].copy()
    for shard, numbers, target in zip(shards, places, targets, strict=True):
        arrays = shard.starts, shard.documents, shard.weights
        copy_impacts(arrays, numbers, target, cursors, out)
    _flush(out)


def _begun(folder: Path, terms: Ints, frequencies: Ints) -> tuple[Ints, tuple[Any, Any]]:
    """Writes the terms and where their postings begin, and makes room for these on the disk."""
    starts = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    np.save(folder / "term-numbers.npy", terms)
    np.save(folder / "starts.npy", starts)
    out = []
    for name, kind in (("documents", np.int32), ("weights", np.float32)):
        path = folder / f"{name}.npy"
        if starts[-1]:
            out.append(reserved(path, np.dtype(kind), int(starts[-1])))
        else:
            np.save(path, np.empty(0, kind))
            out.append(np.empty(0, kind))
    return starts, (out[0], out[1])


def _flush(out: tuple[Any, Any]) -> None:
    for array in out:
        if isinstance(array, np.memmap):
            array.flush()

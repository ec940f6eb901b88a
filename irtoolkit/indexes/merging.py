"""Several shards of postings as one."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.strings import Strings, reserved


def merge_postings(shards: Sequence[PostingsShard], places: Sequence[Ints], folder: Path) -> None:
    """Writes the postings of all documents as one shard.

    Memory is that of the terms and of the numbers of documents; postings are copied on disk.

    Args:
        shards: the shards.
        places: (d,) of each shard: the new number of each document, ascending; -1 leaves it out.
        folder: where the arrays go.
    """
    from irtoolkit.indexes._compiled_postings import copy_postings, extremes, live_postings

    lives = [np.empty(len(shard.terms), np.int64) for shard in shards]
    for shard, numbers, live in zip(shards, places, lives, strict=True):
        live_postings(shard.starts, shard.documents, numbers, live)
    terms, targets = _union(shards, lives)
    frequencies = np.zeros(len(terms), np.int64)
    for live, target in zip(lives, targets, strict=True):
        frequencies[target[target >= 0]] += live[target >= 0]
    starts = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    counts, lengths, classes = _classes(shards, places)
    kind: Any = np.uint16 if len(counts) <= 1 << 16 else np.uint32
    total = int(starts[-1])
    out = [
        reserved(folder / f"{name}.npy", dtype, total) if total else np.empty(0, dtype)
        for name, dtype in (("documents", np.dtype(np.int32)), ("classes", np.dtype(kind)))
    ]
    cursors = starts[:-1].copy()
    for shard, numbers, target, class_numbers in zip(shards, places, targets, classes, strict=True):
        copy_postings(
            (shard.starts, shard.documents, shard.classes),
            numbers,
            target,
            class_numbers,
            cursors,
            (out[0], out[1]),
        )
    bounds = np.empty((len(terms), 4), np.int32)
    extremes(starts, out[1], counts, lengths, bounds)
    Strings.of(terms).save(folder, "terms")
    whole = [shard.lengths[numbers >= 0] for shard, numbers in zip(shards, places, strict=True)]
    arrays: dict[str, NDArray[Any]] = {
        "starts": starts,
        "class-counts": counts,
        "class-lengths": lengths,
        "bounds": bounds,
        "lengths": np.concatenate([np.empty(0, np.int32), *whole]),
    }
    if not total:
        arrays |= {"documents": out[0], "classes": out[1]}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    for array in out:
        if isinstance(array, np.memmap):
            array.flush()


def _union(shards: Sequence[PostingsShard], lives: Sequence[Ints]) -> tuple[list[str], list[Ints]]:
    """All terms that some document still has, and the place of each shard's terms there, or -1."""
    terms: list[str] = []
    targets = [np.full(len(shard.terms), -1, np.int64) for shard in shards]
    columns = (
        [
            (term, number, term_number)
            for term_number, term in enumerate(shard.terms)
            if live[term_number]
        ]
        for number, (shard, live) in enumerate(zip(shards, lives, strict=True))
    )
    for term, number, term_number in merge(*columns):
        if not terms or terms[-1] != term:
            terms.append(term)
        targets[number][term_number] = len(terms) - 1
    return terms, targets


def _classes(
    shards: Sequence[PostingsShard], places: Sequence[Ints]
) -> tuple[Ints, Ints, list[Ints]]:
    """Counts and lengths of the classes of all shards, and the new number of each shard's classes."""
    from irtoolkit.indexes._compiled_postings import live_classes

    used = [np.zeros(len(shard.class_counts), np.uint8) for shard in shards]
    for shard, new_numbers, is_used in zip(shards, places, used, strict=True):
        live_classes(shard.documents, shard.classes, new_numbers, is_used)
    pairs = [
        np.stack([shard.class_counts, shard.class_lengths], axis=1)[is_used > 0]
        for shard, is_used in zip(shards, used, strict=True)
    ]
    distinct, inverse = np.unique(
        np.concatenate([np.empty((0, 2), np.int64), *pairs]), axis=0, return_inverse=True
    )
    numbers, first = [], 0
    for is_used, pair in zip(used, pairs, strict=True):
        number = np.full(len(is_used), -1, np.int64)
        number[is_used > 0] = inverse.ravel()[first : first + len(pair)]
        numbers.append(number)
        first += len(pair)
    return (np.ascontiguousarray(distinct[:, 0]), np.ascontiguousarray(distinct[:, 1]), numbers)

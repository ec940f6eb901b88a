"""Similarities of dense vectors, exact and in blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.base.rows import by_rows
from irtoolkit.models.halving import in_halves
from irtoolkit.models.loading import torch_device

Similarity = Literal["cosine", "dot", "l2"]
Vectors = NDArray[np.floating[Any]]


def prepared(
    docs: Vectors, similarity: Similarity | str, device: str | None = None
) -> Callable[[Vectors], Vectors]:
    """What compares queries with some documents, each of which should be there once.

    A matrix product may add in another order at the edge of a block, so that equal vectors in two
    places can differ in the last bit and no longer tie.

    Args:
        docs: (c, dimensions).
        similarity: "cosine", "dot", or "l2", the negated Euclidean distance.
        device: where products are computed; by default a GPU when there is one.

    Returns:
        From (q, dimensions) to (q, c); higher is better.

    Raises:
        InputError: there is no such similarity, or no such device, or its memory does not suffice.
    """
    if similarity not in get_args(Similarity):
        raise InputError(f"no similarity {similarity!r}", remedy=", ".join(get_args(Similarity)))
    if similarity == "l2":
        return lambda queries: negative_distances(queries, docs)
    shown = unit(docs) if similarity == "cosine" else docs
    multiply = _product(shown, device)
    return (lambda queries: multiply(unit(queries))) if similarity == "cosine" else multiply


def _product(docs: Vectors, device: str | None) -> Callable[[Vectors], Vectors]:
    """Products with the documents, on a GPU where there is one, at full single precision."""
    if device != "cpu":
        chosen = torch_device(device)
        if chosen != "cpu":
            return _product_on_gpu(docs, chosen)
    if docs.dtype != np.float32:
        return lambda queries: queries @ docs.T
    room = Room()

    def here(queries: Vectors) -> Vectors:
        if queries.dtype != np.float32:
            return queries @ docs.T
        return np.matmul(queries, docs.T, out=room.take(len(queries), len(docs)))

    return here


def _product_on_gpu(docs: Vectors, device: str) -> Callable[[Vectors], Vectors]:
    """Products with documents that are held on a GPU; of fewer queries at once where memory lacks."""
    import torch

    try:
        there = torch.from_numpy(np.ascontiguousarray(docs, np.float32)).to(device).T
    except torch.OutOfMemoryError:
        raise InputError(
            f"{len(docs):,} vectors of {docs.shape[1]} dimensions do not fit into the memory of"
            f" {device}", remedy="set device=cpu"
        ) from None  # fmt: skip

    def multiply(queries: Vectors) -> Vectors:
        found = np.empty((len(queries), len(docs)), np.float32)

        def part(first: int, last: int) -> None:
            asked = np.ascontiguousarray(queries[first:last], np.float32)
            found[first:last] = (torch.from_numpy(asked).to(device) @ there).cpu().numpy()

        in_halves(part, 0, len(queries), "the queries of a product")
        return found

    return multiply


class Room:
    """Memory for block after block of scores.

    New memory costs as much time as the products that fill it: the system hands it out page by page.
    What has been taken is given again when no array refers to it any more.
    """

    def __init__(self) -> None:
        self._memory: Singles = np.empty(0, np.float32)
        self._lock = Lock()
        self._alone = sys.getrefcount(self._memory)

    def take(self, rows: int, columns: int) -> Singles:
        """(rows, columns) of anything."""
        with self._lock:
            used = sys.getrefcount(self._memory) > self._alone
            if used or len(self._memory) < rows * columns:
                self._memory = np.empty(0, np.float32)
                self._memory = np.empty(rows * columns, np.float32)
            return self._memory[: rows * columns].reshape(rows, columns)


def repeated(compare: Callable[[Vectors], Vectors], which: Ints) -> Callable[[Vectors], Vectors]:
    """What compares queries with documents some of which are the same.

    Args:
        compare: compares queries with each of the distinct documents.
        which: (c,) which of them each document is.
    """
    room = Room()

    def compared(queries: Vectors) -> Vectors:
        found = compare(queries)
        if found.dtype != np.float32:
            return found[:, which]
        made = room.take(len(found), len(which))

        def part(rows: slice) -> None:
            for row in range(rows.start, rows.stop):
                np.take(found[row], which, out=made[row], mode="clip")

        by_rows(part, made)
        return made

    return compared


def unit(vectors: Vectors) -> Vectors:
    """Vectors scaled to length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.where(lengths > 0, lengths, 1)
    return scaled


def negative_distances(queries: Vectors, docs: Vectors) -> Vectors:
    """(q, c) negated Euclidean distances in double precision.

    Computed from the differences, pair by pair: |a|² - 2ab + |b|² would cancel near zero, and
    would not give equal documents equal distances.
    """
    from scipy.spatial.distance import cdist

    distances: Vectors = cdist(queries.astype(np.float64), docs.astype(np.float64))
    return -distances

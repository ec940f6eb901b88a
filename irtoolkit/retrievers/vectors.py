"""Similarities of dense vectors, exact and in blocks."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Similarity = Literal["cosine", "dot", "l2"]
Vectors = NDArray[np.floating[Any]]


def similarities(queries: Vectors, docs: Vectors, similarity: Similarity) -> Vectors:
    """Higher is better.

    Args:
        queries: (q, dimensions).
        docs: (c, dimensions).
        similarity: "cosine", "dot", or "l2", the negated Euclidean distance.

    Returns:
        (q, c).
    """
    if similarity not in get_args(Similarity):
        raise ValueError(f"no similarity {similarity!r}: there are {get_args(Similarity)}")
    if similarity == "l2":
        return negative_distances(queries, docs)
    if similarity == "cosine":
        queries, docs = unit(queries), unit(docs)
    # A matrix product may add in another order at the edge of a block, so that equal documents
    # differ in the last bit and no longer tie. In double precision that bit is rounded away.
    product: Vectors = queries.astype(np.float64) @ docs.astype(np.float64).T
    return product.astype(np.result_type(queries, docs))


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

"""Similarities of dense vectors, exact and in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Singles
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.comparison import Similarity as Similarity
from irtoolkit.indexes.rounding import VectorPrecision
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.models.halving import in_halves
from irtoolkit.models.loading import torch_device

Vectors = NDArray[np.floating[Any]]

# Documents that a GPU multiplies at once in double precision.
_ON_GPU = 1 << 17


def prepared(
    docs: Vectors,
    similarity: Similarity | str,
    device: str | None = None,
    stored: VectorPrecision = "fp32",
) -> Callable[[Vectors], Floats]:
    """Returns what compares queries with some documents.

    Args:
        docs: (c, dimensions).
        similarity: "cosine", "dot", or "l2", the negated Euclidean distance.
        device: where products are computed; by default a GPU if there is one.
        stored: the precision in which documents are held.

    Returns:
        From (q, dimensions) to (q, c) in double precision; higher is better. A score depends on its
        two vectors alone.

    Raises:
        InputError: there is no such similarity, or no such device, or its memory does not suffice.
    """
    shard = VectorShard.of([(docs, np.ones(len(docs), np.int64))], stored)
    compared = VectorComparison(cast(Similarity, similarity))
    chosen = "cpu" if device == "cpu" else torch_device(device)
    multiply = None if chosen == "cpu" else _product_on_gpu(shard.rows(0, len(docs)), chosen)

    def compare(queries: Vectors) -> Floats:
        encoded = QueryVectors.of(queries, np.arange(len(queries) + 1), compared)
        return compared.scores(encoded, shard, multiply)

    return compare


def _product_on_gpu(docs: Singles, device: str) -> Callable[[Singles], Floats]:
    """Returns products with documents that are held on a GPU; of fewer queries at once where memory
    lacks."""
    import torch

    try:
        on_device = torch.from_numpy(np.ascontiguousarray(docs, np.float32)).to(device)
    except torch.OutOfMemoryError:
        raise InputError(
            f"{len(docs):,} vectors of {docs.shape[1]} dimensions do not fit into the memory of"
            f" {device}", remedy="set device=cpu"
        ) from None  # fmt: skip

    def multiply(queries: Singles) -> Floats:
        products = np.empty((len(queries), len(docs)))

        def part(first: int, last: int) -> None:
            batch = torch.from_numpy(np.ascontiguousarray(queries[first:last])).to(device).double()
            for begin in range(0, len(docs), _ON_GPU):
                block = on_device[begin : begin + _ON_GPU].double()
                products[first:last, begin : begin + _ON_GPU] = (batch @ block.T).cpu().numpy()

        in_halves(part, 0, len(queries), "the queries of a product")
        return products

    return multiply


def unit(vectors: Vectors) -> Vectors:
    """Vectors scaled to length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.where(lengths > 0, lengths, 1)
    return scaled

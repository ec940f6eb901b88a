"""PLAID over kept token vectors: a compressed index of each shard finds documents for exact MaxSim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.bounds import (
    DamagedIndexError,
    check_finite,
    check_length,
    check_numbers,
    check_starts,
)
from irtoolkit.indexes.comparison import QueryVectors
from irtoolkit.indexes.index_format import OpenShard
from irtoolkit.indexes.strings import mapped
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import VectorShard, gathered
from irtoolkit.retrievers import residuals
from irtoolkit.retrievers.residuals import Compression, Residuals
from irtoolkit.retrievers.vectors import ArrangedIndex, Finding, Sides

# Finds documents of a shard, given the token vectors of a query.
Find = Callable[[Singles], Ints]


class PlaidRetriever(Finding, Protocol):
    """See `irtoolkit.retrievers.plaid.Plaid`."""

    def compression(self, most: int | None = None) -> Compression: ...
    def found(self, index: Residuals, query: Singles, keys: Any, live: Any = None) -> Ints: ...


class PlaidIndex(ArrangedIndex):
    """How token vectors are kept beside a compressed index of them."""

    kind = "plaid"
    is_exact = False

    def __init__(self, retriever: PlaidRetriever, sides: Sides) -> None:
        compression = {name: getattr(retriever, name) for name in ("nbits", "centroids", "seed")}
        super().__init__(retriever, sides, {**retriever.index_settings(), **compression})
        self._retriever = retriever

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> PlaidSearch:
        """Shards of token vectors as one.

        Raises:
            InputError: something the retriever needs is not here.
        """
        self.check_runnable()
        parts = [(VectorShard.open(shard.documents.folder), shard) for shard in shards]
        return PlaidSearch(self._retriever, parts, first)

    def arrange(self, folder: Path) -> None:
        """Makes the compressed index of the vectors in a folder."""
        shard = VectorShard.open(folder)
        if int(shard.starts[-1]):
            compression = self._retriever.compression(int(shard.starts[-1]))
            residuals.fill(folder, _ShardTokens(shard), compression)


class PlaidSearch(VectorSearch):
    """Shards of token vectors that are searched as one in PLAID's stages.

    Args:
        retriever: its settings.
        shards, first: see `VectorSearch`.
    """

    def __init__(
        self,
        retriever: PlaidRetriever,
        shards: Sequence[tuple[VectorShard, OpenShard]],
        first: int = 0,
    ) -> None:
        super().__init__(shards, first)
        self._retriever = retriever
        self._finders = [self._finder(*part) for part in shards]

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents of each query that the shards find."""
        results = []
        for query in range(queries.size):
            encoded = queries.some(query, query + 1)
            if not len(encoded.vectors):
                raise InputError("a query without a token cannot be compared")
            parts = [
                find(encoded.vectors) + base
                for find, base in zip(self._finders, self.bases.tolist(), strict=False)
            ]
            results.append(np.concatenate([np.empty(0, np.int64), *parts]))
        return results

    def _finder(self, shard: VectorShard, docs: OpenShard) -> Find:
        """Returns a function that finds documents of a shard."""
        live = docs.live == 1
        if not int(shard.starts[-1]):
            # Without a token all documents score alike.
            return lambda _: np.flatnonzero(live)
        folder = docs.documents.folder
        index = Residuals(*(mapped(folder / f"{name}.npy") for name in residuals.ARRAYS))
        _check(index, folder, np.asarray(shard.starts))
        keys = docs.documents.keys
        return lambda query: self._retriever.found(index, query, keys, live)


def _check(index: Residuals, folder: Path, starts: Ints) -> None:
    """Checks that the arrays of a folder fit each other, and where documents' tokens begin.

    Raises:
        DamagedIndexError: they do not.
    """
    files = {name: folder / f"{name}.npy" for name in residuals.ARRAYS}
    check_finite(index.centroids, files["centroids"], (None, None))
    check_finite(index.values, files["values"])
    count, tokens = len(index.centroids), int(starts[-1])
    if len(index.values) not in (2, 4, 16):
        raise DamagedIndexError(f"damaged: {len(index.values)} values", file=files["values"])
    width = index.centroids.shape[1] * (len(index.values).bit_length() - 1) // 8
    check_length(index.codes, tokens, files["codes"])
    check_numbers(index.codes, 0, count, files["codes"])
    check_finite(index.rest, files["rest"], (tokens, width))
    check_starts(index.starts, len(starts) - 1, tokens, files["starts"])
    if not np.array_equal(index.starts, starts):
        raise DamagedIndexError("damaged: its tokens are not the vectors'", file=files["starts"])
    check_starts(index.bounds, count, len(index.lists), files["bounds"])
    check_numbers(index.lists, 0, len(starts) - 1, files["lists"])


class _ShardTokens:
    """The token vectors of a shard; see `residuals.TokenVectors`."""

    def __init__(self, shard: VectorShard) -> None:
        self._shard = shard

    @property
    def counts(self) -> Ints:
        return np.diff(self._shard.starts)

    def of(self, docs: Ints) -> Singles:
        begins = self._shard.starts[docs]
        return self._shard.chosen(gathered(begins, self._shard.starts[docs + 1] - begins))

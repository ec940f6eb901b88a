"""Queries in folds, each of which is held out while something is chosen on the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset

# The number of folds of a dataset that defines none.
FOLDS = 5
Fold = tuple[str, ...]


def dealt(
    query_ids: Collection[str],
    count: int,
    seed: Sequence[int],
    books: Mapping[str, str] | None = None,
) -> tuple[Fold, ...]:
    """Deals queries at random into folds whose sizes differ as little as possible.

    The queries of a book stay together, so that a choice is measured on books that took no
    part in the choice; but for queries of one book, which are dealt one by one. The folds depend on
    the set of queries and the seed alone; within a fold, ids ascend.

    Args:
        query_ids: the queries.
        count: number of folds.
        seed: of the random split.
        books: query id to the book that it is about, for all of them or for none.

    Raises:
        InputError: fewer than two folds, or more than queries or books.
    """
    if count < 2:
        raise InputError(f"{count} folds", remedy="queries are held out in at least 2")
    parts = kept_together(query_ids, books or {})
    if count > len(parts):
        noun = "queries" if len(parts) == len(query_ids) else "books"
        raise InputError(
            f"{count} folds of {len(parts)} {noun}", remedy=f"take fewer folds, or more {noun}"
        )
    folds: list[list[str]] = [[] for _ in range(count)]
    order = np.random.default_rng(seed).permutation(len(parts))
    for part in sorted((parts[place] for place in order), key=len, reverse=True):
        min(folds, key=len).extend(part)
    return tuple(tuple(sorted(fold)) for fold in folds)


def kept_together(query_ids: Collection[str], books: Mapping[str, str]) -> list[list[str]]:
    """Returns the queries that may not be in different folds: those of each of several books."""
    parts: dict[str, list[str]] = {}
    for query in sorted(query_ids):
        parts.setdefault(books.get(query, ""), []).append(query)
    return list(parts.values()) if len(parts) > 1 else [[query] for query in sorted(query_ids)]


def books_of(dataset: Dataset) -> dict[str, str]:
    """Returns the book of each judged query; empty if the dataset has no breakdown by book."""
    if "book" not in dataset.breakdowns():
        return {}
    parts = dataset.breakdown("book")
    return {query: book for book, queries in parts.items() for query in queries}


def folds_of(dataset: Dataset, count: int | None = None, seed: int = 0) -> tuple[Fold, ...]:
    """Returns the folds of a dataset's judged queries: whole books, where there are several.

    Args:
        dataset: has qrels.
        count: number of folds; by default the dataset's own folds, or 5, fewer for fewer books.
        seed: seed of the random split.

    Raises:
        InputError: too few queries or books, fewer than two folds, or a seed below 0.
    """
    if seed < 0:
        raise InputError(f"seed {seed} is below 0")
    folds = dataset.protocol.folds
    if count is None and len(folds) > 1:
        return tuple(tuple(fold) for fold in folds)
    judged, books = dataset.qrels.query_ids.tolist(), books_of(dataset)
    if count is None:
        count = min(FOLDS, len(kept_together(judged, books))) if books else FOLDS
    return dealt(judged, count, (seed, 0), books)

"""Queries in folds, each of which is held out while something is chosen on the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset

# Folds of a dataset that has none of its own.
FOLDS = 5
Fold = tuple[str, ...]


def dealt(query_ids: Collection[str], count: int, seed: Sequence[int]) -> tuple[Fold, ...]:
    """Deals queries at random into folds whose sizes differ by at most one.

    The folds depend on the set of queries and the seed alone; within a fold, ids ascend.

    Raises:
        InputError: fewer than two folds, or more than queries.
    """
    if count < 2:
        raise InputError(f"{count} folds", remedy="queries are held out in at least 2")
    if count > len(query_ids):
        raise InputError(
            f"{count} folds of {len(query_ids)} queries", remedy="take fewer folds, or more queries"
        )
    order = np.random.default_rng(seed).permutation(sorted(query_ids)).tolist()
    return tuple(tuple(sorted(order[first::count])) for first in range(count))


def folds_of(dataset: Dataset, count: int | None = None, seed: int = 0) -> tuple[Fold, ...]:
    """Returns the folds of a dataset's judged queries.

    Args:
        dataset: has qrels.
        count: number of folds; by default the dataset's own folds, or 5.
        seed: seed of the random split.

    Raises:
        InputError: too few queries, fewer than two folds, or a seed below 0.
    """
    if seed < 0:
        raise InputError(f"seed {seed} is below 0")
    own = dataset.protocol.folds
    if count is None and len(own) > 1:
        return tuple(tuple(fold) for fold in own)
    judged = dataset.qrels.query_ids.tolist()
    return dealt(judged, FOLDS if count is None else count, (seed, 0))

"""Negatives of training rows: mined from a run, or drawn at random from the candidate pool."""

from __future__ import annotations

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.base.plurals import number_of
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.ragged import Ragged, is_among
from irtoolkit.training.recipes import Stage
from irtoolkit.training.training_set import TrainingSet


def mine_negatives(ranked: Ragged, exclusions: Exclusions, count: int) -> Ints:
    """Returns the highest ranked documents of each query that it does not exclude: hard negatives.

    Args:
        ranked: the documents of each query, best first.
        exclusions: the documents that each query excludes.
        count: number of negatives of a query.

    Returns:
        (q, count) documents, followed by -1 if there are fewer.
    """
    queries = ranked.owners
    allowed = ~exclusions.contain(queries, ranked.values)
    queries, docs = queries[allowed], ranked.values[allowed]
    ranks = np.arange(len(docs)) - offsets_of(queries, len(ranked))[queries]
    negatives = np.full((len(ranked), count), -1)
    early = ranks < count
    negatives[queries[early], ranks[early]] = docs[early]
    return negatives


def draw_negatives(rows: TrainingSet, row: int, count: int, seed: int, epoch: int) -> Ints:
    """Negatives of a row, drawn at random from its pool.

    The same arguments give the same negatives.

    Returns:
        (count,) distinct documents that the row's query does not exclude.

    Raises:
        InputError: the pool has too few such documents.
    """
    pool, excluded = rows.pool(row), rows.excluded(row)
    random = random_generator(seed, epoch, row)
    if len(pool) < 2 * (count + len(excluded)):
        allowed = np.setdiff1d(pool, excluded, assume_unique=True)
        if len(allowed) < count:
            raise _too_few(rows, row, len(allowed), count)
        return random.choice(allowed, count, replace=False)
    # At least half of the pool is allowed, so few draws are rejected, however large the pool is.
    chosen: dict[int, None] = {}
    while len(chosen) < count:
        drawn = pool[random.integers(len(pool), size=2 * count)]
        chosen.update(dict.fromkeys(drawn[~is_among(drawn, excluded)].tolist()))
    return np.fromiter(chosen, np.int64, count)


def check_negatives(rows: TrainingSet, stage: Stage) -> None:
    """Raises InputError for the first row of a training set with too few negatives."""
    if rows.negatives is not None:
        counts = (rows.negatives >= 0).sum(1)
        if (short := np.flatnonzero(counts < stage.count)).size:
            row = int(short[0])
            raise InputError(
                f"only {counts[row]} of the first {number_of(stage.depth, 'documents')} of query"
                f" {rows.query_names[row]} may be its negatives, and count={stage.count}",
                file=stage.run,
                remedy="lower count, or give a deeper run and raise depth",
            )
    if stage.negatives != "random":
        return
    keys, sets = rows.exclusions.keys, rows.exclusions.word_set_count
    sizes = rows.exclusions.docs_of_word_set.sizes[np.minimum(keys.values, sets - 1)]
    # An upper bound of the number of excluded documents; only rows close to it are counted.
    most = np.bincount(keys.owners, np.where(keys.values < sets, sizes, 1), len(keys))
    close = rows.pools.sizes[rows.pool_of] - most < stage.count
    for row in np.flatnonzero(close[rows.query_of]).tolist():
        available = len(np.setdiff1d(rows.pool(row), rows.excluded(row), assume_unique=True))
        if available < stage.count:
            raise _too_few(rows, row, available, stage.count)


def random_generator(*numbers: int) -> np.random.Generator:
    """Returns a generator of random numbers, seeded with some whole numbers."""
    return np.random.default_rng([number % (1 << 64) for number in numbers])


def _too_few(rows: TrainingSet, row: int, available: int, count: int) -> InputError:
    return InputError(
        f"{rows.name(row)} of {rows.what} has {number_of(available, 'candidates')} that may be negatives, and"
        f" count={count}",
        remedy="lower count",
    )

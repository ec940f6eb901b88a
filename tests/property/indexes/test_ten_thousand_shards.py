"""Ten thousand shards merged by the code that merges the results of workers, beside one ranking of all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.ids import id_array, rank_ids
from irtoolkit.indexes.merged import ShardHits, merged
from irtoolkit.indexes.sharded import Sharded, Targets, least_keys
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs.order import TopDocuments

SHARDS, EACH, QUERIES = 10_000, 6, 3


class Corpus:
    """Documents with a score for each query, in shards.

    Args:
        levels: how many different scores there are, or 0 where no two are equal.
        kind: of the scores: whole numbers, as of postings, or not, as of vectors.
    """

    def __init__(self, levels: int, kind: Any = np.int64, shards: int = SHARDS) -> None:
        draw = np.random.default_rng(levels)
        size = shards * EACH
        self.shards, self.size = shards, size
        scores = np.stack([draw.permutation(size) for _ in range(QUERIES)])
        if levels:
            # Few documents have the greatest scores, as of a query with rare terms.
            scores = (levels * (scores / size) ** 20).astype(np.int64)
        self.scores = (scores - 3).astype(kind)
        # In another order than the numbers; as texts 10 is before 9.
        self.ids = [f"d{number}" for number in draw.permutation(size)]
        self.names = rank_ids(id_array(self.ids))

    def order(self, query: int) -> Any:
        """All documents, the best first."""
        return np.lexsort((-self.names, -self.scores[query]))

    @cached_property
    def opened(self) -> list[Any]:
        """The shards as they are opened, with the ids of their documents."""
        found = []
        for begin in range(0, self.size, EACH):
            order = np.argsort(self.names[begin : begin + EACH])
            documents = SimpleNamespace(ids=Strings.of(self.ids[begin : begin + EACH]), order=order)
            found.append(SimpleNamespace(documents=documents, deleted=()))
        return found

    def parts(self, depth: int) -> Iterator[ShardHits]:
        """What each shard finds."""
        for first in range(0, self.size, EACH):
            rows = []
            for scores in self.scores[:, first : first + EACH]:
                own = np.lexsort((-self.names[first : first + EACH], -scores))[:depth]
                rows.append((own + first, scores[own]))
            docs, scores = (np.concatenate(column) for column in zip(*rows, strict=True))
            offsets = np.cumsum([0, *(len(own) for own, _ in rows)])
            numbers = np.unique(docs)
            ids = Strings.of([self.ids[number] for number in numbers])
            yield ShardHits(TopDocuments(offsets, docs, scores), numbers, ids)


corpus_of = cache(Corpus)


@cache
def parts_of(levels: int, kind: Any, each: int) -> list[ShardHits]:
    return list(corpus_of(levels, kind).parts(each))


@pytest.mark.parametrize(("levels", "kind"), [(3, np.int64), (400, np.float64), (0, np.int64)])
# Every depth above EACH takes all that a shard has, as 1000 does.
@pytest.mark.parametrize("depth", [1, pytest.param(10, marks=pytest.mark.nightly), 1000])
def test_the_best_of_ten_thousand_shards_are_the_best_of_all(
    levels: int, kind: Any, depth: int
) -> None:
    corpus = corpus_of(levels, kind)
    found = merged(iter(parts_of(levels, kind, min(depth, EACH))), depth)
    assert found.offsets.tolist() == [depth * query for query in range(QUERIES + 1)]
    assert found.scores.dtype == kind
    for query, rows in enumerate(np.split(np.arange(QUERIES * depth), QUERIES)):
        expected = corpus.order(query)[:depth]
        assert found.documents[rows].tolist() == expected.tolist()
        assert found.scores[rows].tolist() == corpus.scores[query, expected].tolist()


def test_shards_that_find_nothing_or_little() -> None:
    """A query may match in few shards, and then has fewer documents than were asked for."""
    corpus = Corpus(5, shards=40)
    parts = []
    for number, part in enumerate(corpus.parts(EACH)):
        counts = np.diff(part.found.offsets)
        # The first query matches nowhere, the second in the odd shards, the last everywhere.
        keep = np.repeat([False, bool(number % 2), True], counts)
        offsets = np.cumsum([0, 0, counts[1] * (number % 2), counts[2]])
        found = TopDocuments(offsets, part.found.documents[keep], part.found.scores[keep])
        parts.append(part._replace(found=found))
    depth = 3 * EACH * 10
    found = merged(parts, depth)
    assert np.diff(found.offsets).tolist() == [0, 20 * EACH, depth]
    odd = [doc for doc in corpus.order(1).tolist() if doc // EACH % 2]
    assert found.documents[: len(odd)].tolist() == odd
    assert found.documents[len(odd) :].tolist() == corpus.order(2)[:depth].tolist()
    assert not len(merged([], 10).documents)


class Counting(Sharded):
    """Shards that know the scores of their documents."""

    def __init__(self, corpus: Corpus, first: int, last: int) -> None:
        self.corpus = corpus
        super().__init__(corpus.opened[first:last], [EACH] * (last - first), first * EACH)

    def scores(self, asked: Any, wanted: Any) -> list[Any]:
        return [self.corpus.scores[query, docs] for query, docs in zip(asked, wanted, strict=True)]

    def before(self, asked: Any, targets: Any) -> list[Any]:
        return [self._before(query, target) for query, target in zip(asked, targets, strict=True)]

    def _before(self, query: int, target: Targets) -> Any:
        total = np.zeros(len(target.scores), np.int64)
        for base, shard in zip(self.bases.tolist(), self.shards, strict=False):
            own = self.corpus.scores[query, base : base + EACH]
            after = np.arange(EACH) >= least_keys(shard, target.ids)[:, None]
            equal = own[shard.documents.order] == target.scores[:, None]
            total += (own > target.scores[:, None]).sum(axis=1) + (equal & after).sum(axis=1)
        return total


# Where no two scores are equal, the ids, which the other case is for, too, decide nothing.
@pytest.mark.parametrize("levels", [3, pytest.param(0, marks=pytest.mark.nightly)])
def test_ranks_are_sums_over_ten_thousand_shards(levels: int) -> None:
    corpus = corpus_of(levels)
    asked = list(range(QUERIES))
    wanted = [[0, 17 + query, corpus.size // 2, corpus.size - 1] for query in asked]
    expected = [
        [int(np.flatnonzero(corpus.order(query) == doc)[0]) + 1 for doc in wanted[query]]
        for query in asked
    ]
    whole = Counting(corpus, 0, SHARDS)
    assert whole.ranks(asked, wanted) == expected
    # What workers with some of the shards count is added up.
    targets = whole.targets(asked, wanted)
    bounds = [0, 1, 2, 4_000, 9_999, SHARDS]
    workers = [Counting(corpus, *pair) for pair in pairwise(bounds)]
    sums = [sum(rows) for rows in zip(*(each.before(asked, targets) for each in workers), strict=True)]  # fmt: skip
    assert [(before + 1).tolist() for before in sums] == expected

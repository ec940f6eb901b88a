"""Condorcet fusion, by hand and against its definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.ranking.condorcet import condorcet_order
from irtoolkit.ranking.fusion import fuse
from irtoolkit.runs import Run

Rankings = list[str]


def run_of(ranking: str, tag: str = "r") -> Run:
    return Run.from_rows([("1", doc, -float(rank)) for rank, doc in enumerate(ranking)], tag)


def fused(rankings: Rankings, method: str = "condorcet", **settings: Any) -> str:
    run = fuse([run_of(ranking) for ranking in rankings], method, progress=False, **settings)
    return "".join(row.doc_id for row in run.ranking("1"))


@pytest.mark.parametrize(
    ("rankings", "order"),
    [
        (["abc", "cd"], "cadb"),  # both say that c is above d
        (["abc", "abc", "cba"], "abc"),
        (["abc", "bca", "cab"], "cab"),  # a circle: c by id, and a beats b
        (["abcx", "bcax", "cabx"], "cabx"),  # x is below the circle
        (["ab", "cd"], "cadb"),
        (["a", "a", "b"], "ab"),
        (["ab"] * 2 + ["zyx"] * 2 + ["zab"], "zabyx"),
    ],
)
def test_orders_by_hand(rankings: Rankings, order: str) -> None:
    for permuted in itertools.permutations(rankings):
        assert fused(list(permuted)) == order


def test_the_scores_count_from_the_last() -> None:
    run = fuse([run_of("abc"), run_of("cd")], "condorcet")
    assert [row.score for row in run.ranking("1")] == [4, 3, 2, 1]
    assert run.tag == "condorcet"


def test_weights_are_votes() -> None:
    assert fused(["abc", "cb"], "w_condorcet", weights=[2, 1]) == "abc"
    assert fused(["abc", "cb"], "w_condorcet", weights=[1, 2]) == "cba"
    # .1 + .2 is not .3 in binary, but these votes are equal.
    assert fused(["ab", "ab", "ba"], "w_condorcet", weights=[0.1, 0.2, 0.3]) == "ba"
    with pytest.raises(InputError, match="2 weights for 3 runs"):
        fused(["ab", "ab", "ba"], "w_condorcet", weights=[1, 2])
    with pytest.raises(InputError, match="needs weights"):
        fused(["ab", "ba"], "w_condorcet")
    with pytest.raises(InputError, match="condorcet takes no weights"):
        fused(["ab", "ba"], weights=[1, 2])


def test_a_query_of_one_run_keeps_its_order() -> None:
    more = Run.from_rows([("2", doc, score) for doc, score in (("x", 3), ("y", 2), ("z", 1))], "m")
    run = fuse([run_of("ab"), more, run_of("ba")], "condorcet")
    assert [row.doc_id for row in run.ranking("2")] == ["x", "y", "z"]


def test_what_all_runs_say_holds_and_so_do_majorities_without_circles() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        count = int(rng.integers(2, 5))
        rankings = [
            rng.permutation(list("abcdefgh"))[: rng.integers(1, 9)].tolist() for _ in range(count)
        ]
        docs = sorted(set().union(*rankings))
        ranks = np.array([[(*each, doc).index(doc) for doc in docs] for each in rankings])
        for each, row in zip(rankings, ranks, strict=True):
            row[row == len(each)] = len(docs)
        place = {doc: rank for rank, doc in enumerate(fused(["".join(each) for each in rankings]))}
        margin = np.sign(ranks[:, None, :] - ranks[:, :, None]).sum(axis=0)
        unanimous = (ranks[:, :, None] <= ranks[:, None, :]).all(axis=0)
        for x, y in np.argwhere(margin > 0).tolist():
            if unanimous[x, y] or not in_circles(margin > 0):
                assert place[docs[x]] < place[docs[y]]


def in_circles(beats: Any) -> bool:
    """Whether documents beat each other in a circle."""
    reached = beats.copy()
    for k in range(len(beats)):
        reached |= reached[:, k : k + 1] & reached[k]
    return bool(reached.diagonal().any())


def test_blocks_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = np.array([np.random.default_rng(seed).permutation(50) for seed in range(3)])
    whole = condorcet_order(ranks, np.ones(3))
    monkeypatch.setattr("irtoolkit.ranking.condorcet._PAIRS", 120)
    assert condorcet_order(ranks, np.ones(3)) == whole
    assert sorted(whole) == list(range(50))

"""Ranks from 1, and from 0 as QuoteR's released code counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest

from irtoolkit.api import retrieve
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.rank import MedianRank, Rank, StdRank
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Run
from irtoolkit.runs.columns import TiedRank
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.score import score

# Rank 1, 3 and 20 of the one relevant document.
QRELS = {name: {"a": 1} for name in ("q1", "q2", "q3")}
RUN = {
    name: {("a" if rank == place else f"x{rank}"): -float(rank) for rank in range(1, 21)}
    for name, place in (("q1", 1), ("q2", 3), ("q3", 20))
}


def test_the_first_rank_may_be_zero() -> None:
    found = ir_measures.calc_aggregate(
        [Rank, Rank(start=0), MedianRank, MedianRank(start=0), StdRank, StdRank(start=0)],
        QRELS,
        RUN,
    )
    assert (found[Rank], found[Rank(start=0)]) == (8.0, 7.0)
    assert (found[MedianRank], found[MedianRank(start=0)]) == (3.0, 2.0)
    assert found[StdRank] == found[StdRank(start=0)] == pytest.approx(np.std([1, 3, 20]))


@pytest.mark.parametrize("depth", [None, 3])
def test_the_best_rank_among_equal_scores(tmp_path: Path, depth: int | None) -> None:
    """QuoteR's code takes the place of the first equal score."""
    dataset, whole = Dataset.load("quoter/sample/en/test"), tmp_path / "whole.run"
    produce(dataset, find_system("bm25", {"fill": True}), whole, progress=False)
    path = tmp_path / "best.run"
    best = find_system("bm25", {"ties": "best", "fill": True})
    produce(dataset, best, path, depth=depth, progress=False)
    usual, found = Run.read(whole), Run.read(path)
    for query_id, ranks in (read_ranks(path, found) or {}).items():
        order = [row.doc_id for row in usual.ranking(query_id)]
        assert [row.doc_id for row in found.ranking(query_id)] == order[:depth]
        assert all(rank == order.index(doc_id) + 1 for doc_id, rank in ranks.items())
        assert all(isinstance(rank, TiedRank) and rank.best <= rank for rank in ranks.values())
    names = "Rank Rank(start=0) MedianRank RR"
    scores = score(dataset, {"usual": whole, "best": path}, names)
    figures = {system: scores[system].figures() for system in ("usual", "best")}
    assert figures["best"]["Rank"] < figures["usual"]["Rank"]
    assert figures["best"]["MedianRank"] <= figures["usual"]["MedianRank"]
    assert figures["best"]["RR"] >= figures["usual"]["RR"]
    assert figures["best"]["Rank(start=0)"] == pytest.approx(figures["best"]["Rank"] - 1)


@pytest.mark.parametrize("depth", [None, 1, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_the_best_rank_is_for_ranks_and_not_for_counts(
    tmp_path: Path, depth: int | None, kept: bool
) -> None:
    """QuoteR's code ranks by the first equal score, and counts recall in the order of the run."""
    dataset, path = Dataset.load("quoter/sample/en/test"), tmp_path / "best.run"
    usual = retrieve(dataset, "bm25")
    best = retrieve(dataset, "bm25", depth=depth, ties="best", output=path if kept else None)
    given: Any = path if kept else best

    def values(run: Any, name: str) -> Any:
        (found,) = score(
            dataset, run, name
        ).evaluations.values()  # alone, whatever else is measured
        return found.per_query(name)

    for name in ("R@1", "R@3", "P@3", "Success@1", "AP"):
        assert values(given, name).tolist() == values(usual, name).tolist(), name
    ranks = [(best.exact_ranks or {})[str(query)] for query in dataset.qrels.query_ids]
    firsts = np.array(
        [min(getattr(rank, "best", rank) for rank in docs.values()) for docs in ranks]
    )
    assert (firsts < [min(docs.values()) for docs in ranks]).any()
    expected = {
        "RR": 1 / firsts,
        "RR@1": (firsts == 1).astype(float),
        "nDCG@5": np.where(firsts <= 5, 1 / np.log2(firsts + 1), 0),
        "Rank": firsts,
    }
    for name, wanted in expected.items():
        assert values(given, name) == pytest.approx(wanted), name

"""The best weights of a grid, against brute force and against ranx's optimize_fusion."""

from __future__ import annotations

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.integrations.ranx_objects import threads_kept, to_ranx
from irtoolkit.runs import Qrels, Run

QUERIES = [f"q{number}" for number in range(9)]


def drawn(seed: int, count: int) -> tuple[list[Run], dict[str, dict[str, int]]]:
    """Runs whose scores say a little of relevance each, and judgments."""
    draw = np.random.default_rng(seed)
    docs = [f"d{number:02d}" for number in range(30)]
    qrels = {query: {doc: int(draw.random() < 0.3) for doc in docs} for query in QUERIES}
    runs = [
        Run.of(
            {
                query: {
                    doc: draw.normal() + (place + 1) / count * qrels[query][doc] for doc in docs
                }
                for query in QUERIES
            },
            tag=f"run{place}",
        )
        for place in range(count)
    ]
    return runs, qrels


@pytest.mark.parametrize(("seed", "count"), [(0, 2), (1, 3)])
def test_the_best_weights_are_those_of_brute_force_and_of_ranx(seed: int, count: int) -> None:
    ranx = pytest.importorskip("ranx")
    runs, qrels = drawn(seed, count)
    found = ir.tune_fusion(
        qrels, *runs, methods=["weighted"], normalise=["minmax"], step=0.1, measure="AP", folds=3,
        progress=False,
    )  # fmt: skip
    figures = {tuple(one.configuration.settings["weights"]): one.figure for one in found.tried}
    for weights, figure in list(figures.items())[::7]:
        fused = ir.fuse(*runs, method="weighted", weights=weights)
        assert ir.evaluate(qrels, fused, measures="AP").figures()["weighted"]["AP"] == pytest.approx(figure, abs=1e-12)  # fmt: skip
    assert found.learned.settings["weights"] == list(max(figures, key=lambda w: figures[w]))
    # Folds choose among the same figures, without their own queries.
    for place, one in enumerate(found.chosen):
        others = [q for fold in found.bench.folds if fold != found.bench.folds[place] for q in fold]
        means = {
            weights: np.mean(
                ir.evaluate(
                    {q: qrels[q] for q in others}, ir.fuse(*runs, method="weighted", weights=weights),
                    measures="AP",
                )["weighted"].per_query("AP")
            )
            for weights in [*list(figures)[::5], tuple(one.settings["weights"])]
        }  # fmt: skip
        assert means[tuple(one.settings["weights"])] == pytest.approx(max(means.values()))
    with threads_kept():
        theirs = ranx.optimize_fusion(
            to_ranx(Qrels.of(qrels)), [to_ranx(run) for run in runs], norm="min-max", method="wsum",
            metric="map", step=0.1,
        )  # fmt: skip
    best = figures[tuple(round(weight, 1) for weight in theirs["weights"])]
    assert best == pytest.approx(max(figures.values()), abs=1e-9)

"""The figure of a grid search on queries that did not choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.tune import Point, held_out, tune
from irtoolkit.scoring.folds import folds_of

DATASET = "relic/sample/val"
GRID = {"k1": ["0.5", "0.9", "1.5"], "b": ["0.4", "0.65", "0.9"]}


@pytest.mark.parametrize("dataset", [DATASET, "csfcube/sample"])
def test_a_seed_of_folds_is_at_least_0(dataset: str) -> None:
    with pytest.raises(ir.InputError, match="seed -1 is below 0"):
        folds_of(Dataset.load(dataset), seed=-1)


@pytest.mark.parametrize("measure", ["R@3", "Rank", "MedianRank"])
def test_it_is_that_of_the_runs_that_are_chosen_without_the_fold(measure: str) -> None:
    """From the runs of all points, whose values are read as users read them."""
    dataset, folds = Dataset.load(DATASET), folds_of(Dataset.load(DATASET), 4, 1)
    points = tune(DATASET, "bm25", GRID, measures=measure)
    found = held_out(dataset, points, folds)

    order = sorted(points, key=lambda point: point.place)
    runs = {str(p.place): ir.retrieve(DATASET, "bm25", **p.settings) for p in order}
    values = {
        name: {query: value for _, query, _, value in scores.per_query()}
        for name in runs
        for scores in [ir.evaluate(DATASET, {name: runs[name]}, measures=measure)]
    }
    middle: Callable[[list[float]], Any] = np.median if measure == "MedianRank" else np.mean
    sign = -1 if measure == "R@3" else 1
    merged = {}
    for fold, settings in zip(folds, found.chosen, strict=True):
        worth = [
            sign * middle([v for query, v in values[name].items() if query not in fold])
            for name in runs
        ]
        best = int(np.argmin(worth))
        assert settings == order[best].settings
        merged |= {query: values[str(best)][query] for query in fold}
    assert found.measure == measure
    assert found.figure == pytest.approx(middle(list(merged.values())))
    assert merged.keys() == {*dataset.qrels.query_ids.tolist()}


def test_folds_of_the_dataset_are_held_out_and_averaged() -> None:
    dataset = Dataset.load("csfcube/sample")
    own = dataset.protocol.folds
    assert folds_of(dataset) == tuple(map(tuple, own))
    places = {query: place for place, query in enumerate(dataset.qrels.query_ids.tolist())}
    first = np.zeros(len(places))
    first[[places[query] for query in own[0]]] = 1.0
    # Each is best on one fold, where it may not be chosen.
    points = [
        Point({"k1": str(n)}, {"R@3": float(values.mean())}, tuple(values.tolist()), n)
        for n, values in enumerate((first, 1 - first))
    ]
    found = held_out(dataset, points, folds_of(dataset))
    assert found.chosen == ({"k1": "1"}, {"k1": "0"})
    assert found.figure == 0.0


def test_what_a_point_is_worth_on_the_fold_decides_no_tie() -> None:
    dataset = Dataset.load(DATASET)
    queries = dataset.qrels.query_ids.tolist()
    folds = (tuple(queries[:1]), tuple(queries[1:]))
    one, other = np.full(len(queries), 0.5), np.full(len(queries), 0.5)
    other[0] = 1.0
    points = [
        Point({"k1": "other"}, {"R@3": 0.51}, tuple(other.tolist()), 1),
        Point({"k1": "one"}, {"R@3": 0.5}, tuple(one.tolist()), 0),
    ]
    assert held_out(dataset, points, folds).chosen[0] == {"k1": "one"}


def test_the_command_tells_it(
    irtoolkit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("tune", DATASET, "bm25", "--grid", "k1=0.5,0.9", "--measures", "R@3")
    points = tune(DATASET, "bm25", {"k1": ["0.5", "0.9"]}, measures="R@3")
    dataset = Dataset.load(DATASET)
    for given, folds in (
        ((), folds_of(dataset)),
        (("--folds", 3, "--seed", 2), folds_of(dataset, 3, 2)),
    ):
        answer = irtoolkit(*words, *given, "-o", "log.json")
        assert answer.status == 0, answer.err
        figure = held_out(dataset, points, folds).figure
        assert f"held out in {len(folds)} folds: R@3 {figure:.4f}" in answer.err


@pytest.mark.parametrize(("folds", "said"), [("1", "1 folds"), ("1000", "1000 folds of")])
def test_folds_that_cannot_be_are_refused_before_anything_runs(
    irtoolkit: Callable[..., Any], folds: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irtoolkit.papers.tune.rank", lambda *a, **k: pytest.fail("it runs"))
    answer = irtoolkit("tune", DATASET, "bm25", "--grid", "k1=1", "--folds", folds)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err

"""Grid search on samples: the command, its log, and searches that were interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.papers import tune as tuning
from irtoolkit.papers.tune import tune
from tests.unit.papers.test_tune import DATASET, GRID, Command, by_settings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_figures_are_those_of_retrieve_and_eval(irtoolkit: Command) -> None:
    depth = 3
    grid = {"k1": ["0.5", "1.5"], "form": ["okapi", "lucene"]}
    fixed = {"statistics": "candidates", "stop": "none"}
    names = "R@3 Rank MedianRank nDCG@10"
    points = by_settings(tune(DATASET, "bm25", grid, fixed=fixed, measures=names, depth=depth))
    for (k1, form), figures in points.items():
        settings = [f"k1={k1}", f"form={form}", *(f"{k}={v}" for k, v in fixed.items())]
        answer = irtoolkit("retrieve", DATASET, "bm25", "-o", "x.run", "--depth", depth, "--set", *settings)  # fmt: skip
        assert answer.status == 0, answer.err
        answer = irtoolkit("eval", DATASET, "x.run", "--measures", names, "--format", "json")
        [expected] = json.loads(answer.out).values()
        assert figures == pytest.approx(expected, abs=1e-12)


class Counter:
    """Counts rankings, and may break at one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int = -1) -> None:
        self.count, self.at, original = 0, at, tuning.rank

        def counted(*args: Any, **kwargs: Any) -> Any:
            if self.count == self.at:
                raise KeyboardInterrupt
            self.count += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(tuning, "rank", counted)


def test_an_interrupted_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    at = 3
    whole = tune(DATASET, "bm25", GRID, measures="R@10")
    with monkeypatch.context() as patch:
        first = Counter(patch, at)
        with pytest.raises(KeyboardInterrupt):
            tune(DATASET, "bm25", GRID, measures="R@10", log="log.json")
        assert first.count == at
    with monkeypatch.context() as patch:
        second = Counter(patch)
        assert tune(DATASET, "bm25", GRID, measures="R@10", log="log.json") == whole
        assert second.count == 4 - at
    third = Counter(monkeypatch)
    assert tune(DATASET, "bm25", GRID, measures="R@10", log="log.json") == whole
    assert third.count == 0


def test_a_grid_may_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(DATASET, "bm25", GRID, measures="R@10", log="log.json")
    counter = Counter(monkeypatch)
    more = {"k1": ["0.5", "1.5", "2"], "b": ["0.2", "0.9"]}
    assert len(tune(DATASET, "bm25", more, measures="R@10", log="log.json")) == 6
    assert counter.count == 2


@pytest.mark.parametrize("change", [{"depth": 10}, {"fixed": {"stop": "none"}}])
def test_the_log_of_another_search_is_refused(change: dict[str, Any]) -> None:
    asked = {"dataset": DATASET, "system": "bm25", "measures": "R@10"}
    grid = {"stem": ["none"]}

    def search(dataset: str, system: str, **options: Any) -> None:
        tune(dataset, system, grid, log="log.json", **options)

    search(**asked)
    before = Path("log.json").read_text("utf-8")
    with pytest.raises(InputError, match="another grid search"):
        search(**{**asked, **change})
    assert Path("log.json").read_text("utf-8") == before


def test_the_command(irtoolkit: Command) -> None:
    args = ("tune", DATASET, "bm25", "--grid", "k1=0.5", "b=0.4:0.9:0.25", "--measures", "Rank")
    answer = irtoolkit(*args, "--format", "json", "-o", "log.json")
    assert answer.status == 0, answer.err
    points = json.loads(answer.out)
    assert len(points) == 3
    figures = [point["figures"]["Rank"] for point in points]
    assert figures == sorted(figures)
    best = points[0]["settings"]
    assert f"best: --set k1={best['k1']} b={best['b']}" in answer.err
    expected = tune(DATASET, "bm25", {"k1": ["0.5"], "b": ["0.40", "0.65", "0.90"]}, measures="Rank")  # fmt: skip
    assert points == [{"settings": p.settings, "figures": p.figures} for p in expected]
    text = irtoolkit(*args, "-o", "log.json")
    assert text.status == 0
    assert f"{DATASET}: bm25, best first" in text.out


def test_a_setting_is_not_both_fixed_and_searched() -> None:
    with pytest.raises(InputError, match="k1 is both fixed and in the grid"):
        tune(DATASET, "bm25", {"k1": ["1"]}, fixed={"k1": "2"})

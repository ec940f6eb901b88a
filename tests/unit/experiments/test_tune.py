"""Grid search: what a grid is, what is measured, what is kept."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.experiments import tune as tuning
from irtoolkit.experiments.tune import Point, parse_grid, tune
from irtoolkit.measures.traits import traits

Command = Callable[..., Any]
DATASET = "relic/sample/val"
GRID = {"k1": ["0.5", "1.5"], "b": ["0.2", "0.9"]}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _plain(value: str) -> str:
    """A number without what does not count: 0.40 is 0.4."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


# -- grids ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", ["0.5"]),
        ("0.5,0.9,1.2", ["0.5", "0.9", "1.2"]),
        ("max,mean", ["max", "mean"]),
        ("0.1:1.0:0.1", ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"]),
        ("1:3:1", ["1", "2", "3"]),
        ("0:1:0.4", ["0", "0.4", "0.8"]),
        ("2:2:1", ["2"]),
        ("-1:1:1", ["-1", "0", "1"]),
        ("0.5,1:3:1,none", ["0.5", "1", "2", "3", "none"]),
        ("0:0.3:0.1", ["0", "0.1", "0.2", "0.3"]),
    ],
)
def test_values_are_listed_or_counted_up(text: str, expected: list[str]) -> None:
    [values] = parse_grid({"x": text}).values()
    assert [_plain(value) for value in values] == expected


@given(first=st.integers(-50, 50), steps=st.integers(0, 40), step=st.integers(1, 30))
def test_a_range_holds_its_ends_and_has_no_rounding(first: int, steps: int, step: int) -> None:
    last = first + steps * step
    values = parse_grid({"x": f"{first / 100}:{last / 100}:{step / 100}"})["x"]
    assert [float(value) for value in values] == [
        (first + i * step) / 100 for i in range(steps + 1)
    ]


@pytest.mark.parametrize(
    "text",
    ["1:2", "1:2:3:4", "a:b:c", "1:2:0", "1:2:-1", "2:1:1", ":1:1", "0:1:", "0:100000:1",
     "nan:1:1", "0:inf:1", "0:nan:1", "0:1:nan", "-inf:0:1", "0:1:inf", "0:1:1e-9"],
)  # fmt: skip
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="grid x="):
        parse_grid({"x": text})


# -- what is measured -------------------------------------------------------------------------


def by_settings(points: list[Point]) -> dict[tuple[str, ...], dict[str, float]]:
    return {tuple(point.settings.values()): point.figures for point in points}


@pytest.mark.parametrize("measures", ["R@10 MedianRank", "Rank", "MedianRank R@3"])
def test_the_best_stands_first(measures: str) -> None:
    points = tune(DATASET, "bm25", GRID, measures=measures)
    assert len(points) == 4
    first = measures.split()[0]
    figures = [point.figures[first] for point in points]
    assert figures == sorted(figures, reverse="Rank" not in first)
    assert list(points[0].figures) == measures.split()
    assert set(by_settings(points)) == set(itertools.product(*GRID.values()))


@pytest.mark.parametrize(
    ("measure", "lower"),
    [("Rank", True), ("MedianRank", True), ("StdRank", True), ("Rank(rel=2)", True), ("R@10", False),
     ("nDCG@10", False), ("RCap@5", False), ("RR", False), ("NRODCG@10", False)],
)  # fmt: skip
def test_which_measures_are_better_low(measure: str, lower: bool) -> None:
    assert traits(measure).lower_is_better is lower


def test_equals_keep_the_order_of_the_grid() -> None:
    points = tune(DATASET, "random", {"seed": ["3", "3", "3"]}, measures="R@10")
    assert [point.settings for point in points] == [{"seed": "3"}] * 3
    points = tune(DATASET, "bm25", {"delta": ["2", "0", "1"]}, measures="R@10")
    assert [point.settings["delta"] for point in points] == ["2", "0", "1"], "lucene has no delta"


@pytest.mark.parametrize("depth", [3, 1000])
def test_figures_are_those_of_retrieve_and_eval(irtoolkit: Command, depth: int) -> None:
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


def test_a_papers_system_can_be_tuned() -> None:
    points = by_settings(
        tune("relic/sample/val", "BM25-4-4", {"k1": ["0.5", "2"]}, measures="Rank")
    )
    plain = by_settings(
        tune(
            "relic/sample/val", "bm25", {"k1": ["0.5", "2"]}, measures="Rank",
            fixed={"doc": "sentences", "form": "okapi", "statistics": "candidates", "stop": "none", "b": 0.9},
        )
    )  # fmt: skip
    assert points == plain


def test_settings_of_the_task_are_settings() -> None:
    points = tune(
        "csfcube/sample", "bm25", {"doc": ["abstract", "title"], "self": ["keep", "drop"]}
    )
    assert len({json.dumps(point.figures) for point in points}) > 1
    assert next(iter(points[0].figures)).startswith(("nDCGp", "RPlast"))


@pytest.mark.parametrize(
    "grid", [{"k2": ["1"]}, {"k1": ["high"]}, {"k1": ["1", "1x"]}, {"form": ["okapi", "best"]}, {"self": ["x"]}]
)  # fmt: skip
def test_a_value_that_is_none_is_refused_before_anything_runs(
    grid: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "rank_and_locate", lambda *a, **k: pytest.fail("it runs"))
    with pytest.raises(InputError):
        tune(DATASET, "bm25", grid)


@pytest.mark.parametrize(
    ("dataset", "system", "options"),
    [
        ("relic/sample/vla", "bm25", {}),
        ("relic/sample/test", "bm25", {}),
        (DATASET, "bm52", {}),
        (DATASET, "bm25", {"measures": "Nothing@3"}),
        (DATASET, "bm25", {"depth": 0}),
    ],
)
def test_what_is_not_there_is_refused(dataset: str, system: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        tune(dataset, system, {"k1": ["1"]}, **options)


# -- the log ----------------------------------------------------------------------------------


class Counter:
    """Counts rankings, and may break at one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int = -1) -> None:
        self.count, self.at, original = 0, at, tuning.rank_and_locate

        def counted(*args: Any, **kwargs: Any) -> Any:
            if self.count == self.at:
                raise KeyboardInterrupt
            self.count += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(tuning, "rank_and_locate", counted)


@pytest.mark.parametrize("at", [0, 3])
def test_an_interrupted_search_goes_on(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
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


@pytest.mark.parametrize(
    "change",
    [{"measures": "R@3"}, {"depth": 10}, {"fixed": {"stop": "none"}}, {"system": "tfidf"}, {"dataset": "relic/sample/train"}],
)  # fmt: skip
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


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"points": {}}', "\x00", "q1 Q0 d1 1 0.5 t\n", '{"about": 1, "points": []}'])  # fmt: skip
def test_what_is_no_log_is_refused_and_left_alone(content: str) -> None:
    Path("log.json").write_text(content)
    with pytest.raises(InputError, match=r"log\.json"):
        tune(DATASET, "bm25", GRID, log="log.json")
    assert Path("log.json").read_text() == content


def test_bytes_that_are_no_text_are_no_log() -> None:
    Path("log.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no log"):
        tune(DATASET, "bm25", GRID, log="log.json")


# -- the command ------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "grid", [["k1"], ["k1=1:2"], ["k1=1", "k1=2"], ["=1"], ["k1="], ["k1=0.5,,1"]]
)
def test_a_bad_grid_is_one_line(irtoolkit: Command, grid: list[str]) -> None:
    answer = irtoolkit("tune", DATASET, "bm25", "--grid", *grid)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)


def test_a_setting_cannot_be_fixed_and_searched(irtoolkit: Command) -> None:
    """One of the two would be lost without a word."""
    answer = irtoolkit("tune", DATASET, "bm25", "--grid", "k1=1,2", "--set", "k1=3")
    assert (answer.status, answer.out) == (2, "")
    assert "k1" in answer.err


def test_the_examples_of_the_help_run(irtoolkit: Command) -> None:
    import shlex

    from irtoolkit.commands.tune import EXAMPLES

    for example in EXAMPLES:
        answer = irtoolkit(*shlex.split(example)[1:])
        assert answer.status == 0, answer.err
        assert "best first" in answer.out

"""Grid search: what a grid is, what is measured, what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.locks import locked
from irtoolkit.measures.traits import traits
from irtoolkit.papers import tune as tuning
from irtoolkit.papers.tune import Point, parse_grid, tune

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
        ("max,mean", ["max", "mean"]),
        ("1:3:1", ["1", "2", "3"]),
        ("0:1:0.4", ["0", "0.4", "0.8"]),
        ("-1:1:1", ["-1", "0", "1"]),
        ("0:0.3:0.1", ["0", "0.1", "0.2", "0.3"]),
    ],
)
def test_values_are_listed_or_counted_up(text: str, expected: list[str]) -> None:
    [values] = parse_grid({"x": text}).values()
    assert [_plain(value) for value in values] == expected


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
    points = tune(DATASET, "bm25", {"b": ["0.4", "0.40", ".4"]}, measures="R@10")
    assert [point.settings["b"] for point in points] == ["0.4", "0.40", ".4"]


def test_a_setting_that_no_point_reads_is_refused() -> None:
    with pytest.raises(InputError, match=r"delta=2.* changes nothing"):
        tune(DATASET, "bm25", {"delta": ["2", "0"]}, measures="R@10")


def test_a_papers_system_can_be_tuned() -> None:
    points = by_settings(
        tune("relic/sample/val", "BM25-4-4", {"k1": ["0.5", "2"]}, measures="Rank")
    )
    plain = by_settings(
        tune(
            "relic/sample/val", "bm25", {"k1": ["0.5", "2"]}, measures="Rank",
            fixed={"doc": "sentences", "form": "okapi", "statistics": "candidates", "b": 0.9,
                   "tokenizer": "word", "stop": "none", "stem": "none"},
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
    monkeypatch.setattr(tuning, "rank", lambda *a, **k: pytest.fail("it runs"))
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


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"points": {}}', "\x00", "q1 Q0 d1 1 0.5 t\n", '{"about": 1, "points": []}'])  # fmt: skip
def test_what_is_no_log_is_refused_and_left_alone(content: str) -> None:
    Path("log.json").write_text(content)
    with pytest.raises(InputError, match=r"log\.json"):
        tune(DATASET, "bm25", GRID, log="log.json")
    assert Path("log.json").read_text() == content


def test_a_log_that_another_process_writes_is_refused() -> None:
    with (
        locked(Path(".log.json.lock")),
        pytest.raises(InputError, match="another process writes this log"),
    ):
        tune(DATASET, "bm25", GRID, log="log.json")
    assert not Path("log.json").exists()


def test_bytes_that_are_no_text_are_no_log() -> None:
    Path("log.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no log"):
        tune(DATASET, "bm25", GRID, log="log.json")


# -- the command ------------------------------------------------------------------------------


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

"""The front door: its words, its errors, and what it gives as data frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import irtoolkit as ir


@pytest.fixture
def data() -> Any:
    texts = {f"d{n}": f"word{n} sea" for n in range(6)}
    queries = {f"q{n}": f"word{n}" for n in range(6)}
    return ir.load(texts, queries=queries, qrels={f"q{n}": {f"d{n}": 1} for n in range(6)})


def test_dir_has_the_names_that_are_meant_for_users() -> None:
    assert dir(ir) == sorted(ir.__all__)
    assert len(dir(ir)) <= 25


def test_measure_and_measures_are_one_word(data: Any) -> None:
    run = ir.retrieve(data, "bm25")
    other = run.named("other")
    assert (
        ir.evaluate(data, run, measure="map").figures()
        == ir.evaluate(data, run, measures="map").figures()
    )
    assert ir.compare(data, run, other, measures="map").measure == "map"
    with pytest.raises(ir.InputError, match="measure and measures are the same"):
        ir.evaluate(data, run, measure="map", measures="map")


def test_frames(data: Any) -> None:
    run = ir.retrieve(data, "bm25")
    frame = run.to_frame()
    assert list(frame.columns) == ["query_id", "doc_id", "score", "rank"]
    assert ir.Run.of(frame).to_frame().equals(frame)
    assert list(ir.Qrels.of(data.qrels.to_frame())) == list(data.qrels)
    assert list(ir.compare(data, run, run.named("other")).to_frame().index) == ["bm25", "other"]
    hits = ir.index(data).search("word3", k=2).to_frame()
    assert list(hits.columns) == ["rank", "doc_id", "score", "text"]
    assert hits["doc_id"][0] == "d3"


def test_alpha(data: Any) -> None:
    good = ir.retrieve(data, "bm25")
    bad = ir.Run.of({f"q{n}": {f"d{(n + 1) % 6}": 1.0} for n in range(6)}).named("bad")
    found = ir.compare(data, good, bad, test="fisher", alpha=0.05)
    assert [found.significant(row) for row in found] == [None, True]
    assert str(found).splitlines()[1].endswith("p<=0.05")
    with pytest.raises(ir.InputError, match="alpha 5 is not between 0 and 1"):
        ir.compare(data, good, bad, alpha=5)


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a word that is misspelt": (lambda data: ir.evaluate(data, measurse="map"), "did you mean measure, measures"),
    "no arguments": (lambda _: ir.evaluate(), "missing a required argument: 'data'"),  # type: ignore[call-arg]
    "too many": (lambda data: ir.retrieve(data, "bm25", True), "too many positional"),  # type: ignore[call-arg,arg-type]
    "an unknown precision": (lambda data: ir.evaluate(data, ir.retrieve(data), precision="half"), "'half'"),  # type: ignore[arg-type]
    "no analysis": (lambda _: ir.analyse(5), "5 is no analysis"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_input_errors(data: Any, case: str) -> None:
    act, said = WRONG[case]
    with pytest.raises(ir.InputError, match=said):
        act(data)

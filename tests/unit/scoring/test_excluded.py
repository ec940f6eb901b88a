"""Documents that a grade excludes, as -100 in BRIGHT's judgments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

import irtoolkit as ir
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.handlers import QrelsHandler

RUN = {"q": {"bad": 2.0, "good": 1.0}, "p": {"bad": 3.0, "x": 1.0}}
QRELS = {"q": {"bad": -100, "good": 1}, "p": {"bad": 1}}


def test_excluded_documents_are_left_out_of_their_query() -> None:
    kept = ir.evaluate(QRELS, RUN, measures="nDCG@10 P@1")
    assert kept["run"].per_query("P@1").tolist() == [0, 1]
    assert [note.kind for note in kept.notes] == ["excluded"]
    found = ir.evaluate(QRELS, RUN, measures="nDCG@10 P@1", excluded=-100)
    assert found["run"].per_query("nDCG@10").tolist() == [1, 1]
    assert found["run"].per_query("P@1").tolist() == [1, 1]
    assert [note.text for note in found.notes] == [
        "is scored without 1 row whose documents are excluded for the query"
    ]


def test_a_dataset_that_defines_the_grade_excludes_by_itself() -> None:
    rows = [Qrel(query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items()]
    defined = {1: "Relevant", -100: "Excluded from evaluation"}
    data = ir_datasets.Dataset(QrelsHandler(lambda: rows, Qrel, defined))
    data.queries_iter = lambda: iter(())
    assert ir.evaluate(data, RUN, measures="nDCG@10").figures() == {"run": {"nDCG@10": 1.0}}


def test_comparisons_and_reports_exclude_too(tmp_path: Path) -> None:
    other = {"q": {"good": 1.0}, "p": {"x": 2.0, "bad": 1.0}}
    runs = {"one": RUN, "two": other}
    found = ir.compare(QRELS, runs, measure="P@1", excluded=-100)
    assert [row.figure for row in found] == [1.0, 0.5]
    assert [(note.system, note.rows) for note in found.notes] == [("one", 1)]
    page = tmp_path / "table.md"
    ir.report(QRELS, runs, output=page, measures="P@1", excluded=-100)
    assert "one is scored without 1 row" in page.read_text()


@pytest.mark.parametrize(("words", "value"), [((), ".63"), (("--excluded", "-100"), "1.0")])
def test_the_command(
    irtoolkit: Callable[..., Any], write: Callable[..., Path], words: tuple[str, ...], value: str
) -> None:
    qrels = write("e.qrels", "q 0 bad -100\nq 0 good 1\n")
    run = write("e.run", "q Q0 bad 1 2.0 r\nq Q0 good 2 1.0 r\n")
    answer = irtoolkit("eval", qrels, run, "--measures", "nDCG@10", *words)
    assert value in answer.out
    assert ("--excluded -100" in answer.err) == (not words)
    assert ("without 1 row" in answer.err) == bool(words)


def test_a_command_names_the_grades_that_occur(
    irtoolkit: Callable[..., Any], write: Callable[..., Path]
) -> None:
    qrels = write("e.qrels", "q 0 bad -100\nq 0 good 1\n")
    runs = [write(f"{name}.run", "q Q0 bad 1 2.0 r\n") for name in "ef"]
    for command, more in (("eval", ()), ("compare", ()), ("report", ("-o", "x.md"))):
        answer = irtoolkit(command, qrels, *runs, *more, "-m", "P@1", "--excluded", "100")
        assert answer.status != 0
        assert "the judgments have the grades -100, 1" in answer.err

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
    assert not found.notes


def test_a_dataset_that_defines_the_grade_excludes_by_itself() -> None:
    rows = [Qrel(query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items()]
    defined = {1: "Relevant", -100: "Excluded from evaluation"}
    data = ir_datasets.Dataset(QrelsHandler(lambda: rows, Qrel, defined))
    data.queries_iter = lambda: iter(())
    assert ir.evaluate(data, RUN, measures="nDCG@10").figures() == {"run": {"nDCG@10": 1.0}}


@pytest.mark.parametrize(("words", "value"), [((), ".63"), (("--excluded", "-100"), "1.0")])
def test_the_command(
    irtoolkit: Callable[..., Any], write: Callable[..., Path], words: tuple[str, ...], value: str
) -> None:
    qrels = write("e.qrels", "q 0 bad -100\nq 0 good 1\n")
    run = write("e.run", "q Q0 bad 1 2.0 r\nq Q0 good 2 1.0 r\n")
    answer = irtoolkit("eval", qrels, run, "--measures", "nDCG@10", *words)
    assert value in answer.out
    assert ("--excluded -100" in answer.err) == (not words)

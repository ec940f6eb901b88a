"""Notes on judgments and runs that are not of one collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError

Write = Callable[..., Path]
Command = Callable[..., Any]
QRELS = {"1": {"x7": 1, "x8": 0}, "2": {"x9": 2}}
UNJUDGED = "lists no judged document: it has for example a, and the judgments have x7"


def test_a_run_without_a_judged_document_is_said_first() -> None:
    run = {"1": {"a": 2.0, "x9": 1.0}}  # x9 is judged for another query
    scores = ir.evaluate(QRELS, run, measures="AP")
    assert [note.kind for note in scores.notes] == ["unjudged", "missing"]
    assert UNJUDGED in str(scores.notes[0])
    assert UNJUDGED in str(ir.evaluate(QRELS, run, measures="ERR@5"))
    assert not ir.evaluate(QRELS, {"1": {"x8": 2.0}, "2": {"a": 1.0}}, measures="AP").notes


def test_the_command_says_it(irtoolkit: Command, write: Write) -> None:
    qrels = write("q.qrels", "1 0 x7 1\n")
    runs = [write(f"{name}.run", f"1 Q0 a 1 1.0 {name}\n") for name in "rs"]
    for words in (("eval", qrels, runs[0]), ("compare", qrels, *runs)):
        answer = irtoolkit(*words, "--measure" + "s" * (words[0] == "eval"), "AP")
        assert answer.status == 0
        assert UNJUDGED in answer.err


def test_judged_documents_that_the_collection_lacks(irtoolkit: Command, write: Write) -> None:
    docs = {"a": "a cat", "b": "a dog"}
    data = ir.load(docs, queries={"1": "cat"}, qrels={"1": {"a": 1, "z": 1, "y": 0}})
    run = ir.retrieve(data, "bm25")
    (note,) = ir.evaluate(data, run, measures="AP").notes
    assert note.documents == ("y", "z")
    assert "the judgments have 2 documents outside the collection, the first y" in str(note)
    path = write("c.run", "").with_name("d.run")
    kept = ir.retrieve("csfcube/sample", "bm25", output=path)
    qrels = write("other.qrels", f"{kept.query_ids[0]} 0 nowhere 1\n")
    answer = irtoolkit("eval", "csfcube/sample", path, "--qrels", qrels, "--measures", "AP")
    said = [line for line in answer.err.splitlines() if line.startswith("note:")]
    assert "1 document outside the collection, the first nowhere" in said[0]
    assert "lists no judged document" in said[1]


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ({"9": {"a": 1.0}}, "it has for example 9, and the judgments have 1"),
        ({"9": {"a": 1.0}, "8": {"a": 1.0}}, "it has for example 8, and the judgments have 1"),
    ],
)
def test_no_shared_query_shows_one_of_each_side(run: Any, found: str) -> None:
    with pytest.raises(InputError, match=f"the run has no judged query: {found}"):
        ir.evaluate(QRELS, run, measures="AP")
    with pytest.raises(InputError, match=f"run one has no judged query: {found}"):
        ir.evaluate(QRELS, {"one": run, "two": run}, measures="AP")


def test_queries_without_rows_are_not_said_to_count_as_zero_where_their_ranks_are_known(
    tmp_path: Path,
) -> None:
    docs = {"a": "a cat sat", "b": "two dogs ran", "c": "a fish swims"}
    queries = {"1": "cat", "2": "nothing of it"}
    data = ir.load(docs, queries=queries, qrels={"1": {"a": 1}, "2": {"b": 1}})
    run = ir.retrieve(data, "bm25")
    scores = ir.evaluate(data, run, measures="RR nDCG@1")
    (note,) = scores.notes
    assert (note.kind, note.queries, note.measures) == ("ranked", ("2",), ())
    assert str(note) == (
        "note: bm25 lacks 1 of 2 judged queries, the first 2; their exact ranks are known and are"
        " scored: all documents have the score 0, in the order of their ids"
    )
    assert scores.figures()["bm25"]["RR"] == 0.75
    path = tmp_path / "bm25.run"
    ir.retrieve(data, "bm25", output=path)
    from_file = ir.evaluate(data, {"bm25": path}, measures="RR nDCG@1")
    assert (from_file.notes, from_file.figures()) == (scores.notes, scores.figures())
    (page,) = ir.report(data, {"bm25": path}, measures="RR", output=tmp_path / "r.html")
    assert note.text in page.read_text()
    # One measure that the run's rows suffice for is scored as it is beside others.
    alone = ir.evaluate(data, run, measures="nDCG@1").figures()["bm25"]
    assert alone["nDCG@1"] == scores.figures()["bm25"]["nDCG@1"]
    (partly,) = ir.evaluate(data, run, measures="RR nDCGp").notes
    assert str(partly).endswith("in the order of their ids; nDCGp count them as zero")
    (without,) = ir.evaluate(data, {"1": {"a": 1.0}}, measures="RR").notes
    assert without.text.endswith("; they count as zero")

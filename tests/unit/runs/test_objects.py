"""Runs and qrels from the objects that other libraries and plain Python have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import irtoolkit  # noqa: F401  registers our datasets
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Qrels, Run

ROWS = [("q1", "a", 1.0), ("q1", "b", 2.5), ("q2", "a", -1.0)]
RANKED = [("q1", "b", 2.5), ("q1", "a", 1.0), ("q2", "a", -1.0)]
GRADED = [("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 3)]


# -- runs ----------------------------------------------------------------------------------------


def test_a_tag_can_be_given() -> None:
    run = Run.of({"q": {"d": 1.0}}, "one")
    assert run.tag == "one"
    other = Run.of(run, "two")
    assert (other.tag, list(other)) == ("two", list(run))
    assert run.tag == "one"
    with pytest.raises(InputError, match="is not one word"):
        Run.of(run, "two words")


# -- qrels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
def test_qrels_of_a_path(tmp_path: Path, kind: Any) -> None:
    Qrels.from_rows(GRADED).write(tmp_path / "x.qrels")
    assert list(Qrels.of(kind(tmp_path / "x.qrels"))) == GRADED


# -- refused -------------------------------------------------------------------------------------

both = pytest.mark.parametrize("kind", [Run, Qrels])


@both
def test_a_generator_that_was_read_before_is_refused(kind: Any) -> None:
    rows = (row for row in [("q", "d", 1)])
    kind.of(rows)
    with pytest.raises(InputError) as caught:
        kind.of(rows)
    assert str(caught.value) == (
        f"no rows in the {kind.__name__.lower()} (a generator can be read once: pass a list)"
    )


def test_judgments_have_the_same_columns_in_memory_and_in_files(tmp_path: Path) -> None:
    columns = {"topic_id": ["q"], "pid": ["d"], "score": [3.5], "rel": [2], "label": [1]}
    for names in (("topic_id", "pid", "rel"), ("topic_id", "pid", "score", "label")):
        data = pd.DataFrame({name: columns[name] for name in names})
        data.to_csv(tmp_path / "judged.csv", index=False)
        data.to_parquet(tmp_path / "judged.parquet")
        grade = 1 if "label" in names else 2
        for source in (data, tmp_path / "judged.csv", tmp_path / "judged.parquet"):
            qrels = Dataset.of(source).qrels
            assert qrels.as_dict() == {"q": {"d": grade}}
            assert qrels.of_grade(grade) == {"q": {"d"}}
            assert qrels.of_grade(grade + 1) == {}


@both
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_row_without_an_id_is_refused(kind: Any, missing: Any) -> None:
    with pytest.raises(InputError, match="row 2 has no document id"):
        kind.of([("q", "d", 1), ("q", missing, 1)])
    value = {Run: "score", Qrels: "label"}[kind]
    with pytest.raises(InputError, match="row 1 has no query id"):
        kind.of(pd.DataFrame({"qid": [missing], "docno": ["d"], value: [1]}))


@both
@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([("q", "d", 1), ("q", "d")], "row 2 has 2 values, not 3"),
        ([("q", "Q0", "d", "1", 0.5, "tag")], "row 1 has 6 values, not 3"),
        (["q Q0 d 1 0.5 tag"], "row 1 is a str"),
        ([{"query_id": "q", "doc_id": "d"}], "row 1 is a dict"),
        ([("q", "d", 1), None], "row 2 is a NoneType"),
        (list("abc"), "row 1 is a str"),
        (b"x.run", "a bytes is no"),
        (7, "an int is no"),
        (None, "a NoneType is no"),
        ({"q": ["a", "b"]}, "query q has a list, not a dict"),
        ({"q": 1.5}, "query q has a float, not a dict"),
    ],
)
def test_what_has_no_rows_is_refused(kind: Any, rows: Any, found: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.of(rows)
    assert caught.value.found.startswith(found)
    assert caught.value.remedy is not None


@pytest.mark.parametrize(
    "grade", ["1", None, float("nan"), float("inf"), 2**70, pytest.param(10**5000, id="huge")]
)
def test_a_grade_that_is_no_finite_number_is_refused(grade: Any) -> None:
    with pytest.raises(InputError, match=r"grade .* of d for q is not a finite number between"):
        Qrels.of([("q", "d", grade)])


def test_grades_may_be_fractions() -> None:
    qrels = Qrels.of({"q": {"a": 0.5, "b": 1, "c": 0.0}, "p": {"a": 2}})
    assert qrels.fractional
    assert qrels.as_dict() == {"q": {"a": 0.5, "b": 1.0, "c": 0.0}, "p": {"a": 2.0}}
    assert not Qrels.of({"q": {"a": 2.0}}).fractional


def test_fractions_are_not_written_as_trec_qrels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fractions cannot be written as TREC qrels"):
        Qrels.of({"q": {"a": 0.5}}).write(tmp_path / "x.qrels")
    assert not (tmp_path / "x.qrels").exists()


# -- notebooks -----------------------------------------------------------------------------------

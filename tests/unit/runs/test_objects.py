"""Runs and qrels from the objects that other libraries and plain Python have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import irtoolkit  # noqa: F401  registers our datasets
from irtoolkit.base.errors import InputError
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
        (["q Q0 d 1 0.5 tag"], "row 1 is a str"),
        (list("abc"), "row 1 is a str"),
        (None, "a NoneType is no"),
        ({"q": 1.5}, "query q has a float, not a dict"),
    ],
)
def test_what_has_no_rows_is_refused(kind: Any, rows: Any, found: str) -> None:
    with pytest.raises(InputError) as caught:
        kind.of(rows)
    assert caught.value.found.startswith(found)
    assert caught.value.remedy is not None


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

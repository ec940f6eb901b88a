"""Any runs and qrels: one order, and nothing lost on the way to a file and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import ir_measures
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import irtoolkit  # noqa: F401  registers our datasets
from irtoolkit.base.errors import InputError
from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import Run, ScoredDoc
from tests.unit.runs.test_run import (
    GIVEN,
    GIVEN_QRELS,
    LARGEST,
    MEANT,
    Rows,
    assert_round_trip,
    by_pytrec_eval,
    restated,
)

# Any id that TREC text can hold: no ASCII white space, control character or byte order mark.
UNFIT = "".join(map(chr, range(33))) + "\x7f\ufeff"
WORD = st.text(st.characters(codec="utf-8", exclude_characters=UNFIT), min_size=1, max_size=5)


ANYTHING = st.text(st.characters(codec="utf-8"), max_size=5)


# Few values, so that there are ties, among them some that tie only in single precision.
SCORE = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.1, 0.3, LARGEST, -LARGEST, 1e-45, 1.1754942e-38]
)


def rows_with(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Rows]:
    """Rows of a run: few queries, shared documents, no pair twice."""

    def draw(vocabulary: list[str]) -> st.SearchStrategy[Rows]:
        name = st.sampled_from(vocabulary)
        return st.lists(
            st.tuples(name, name, SCORE), min_size=1, max_size=12, unique_by=lambda row: row[:2]
        )

    return st.lists(ids, min_size=1, max_size=5, unique=True).flatmap(draw)


@given(rows_with(ANYTHING))
@example([("q", "a", 1.0), ("q", "b", 1.0), ("q", "c", 1.0 + 1e-9)])
@example([("q", "b", 2.0), ("q", "a", 2.0), ("p", "a", 2.0), ("p", "b", 2.0)])
def test_the_order_is_its_definition(rows: Rows) -> None:
    run = Run.from_rows(rows)
    assert list(run) == restated(rows)
    assert list(Run.from_rows(run)) == list(run), "what stands in order stays as it is"


@given(rows_with(WORD), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_given(rows: Rows, random: Any) -> None:
    queries = list(dict.fromkeys(row[0] for row in rows))
    shuffled = rows.copy()
    random.shuffle(shuffled)
    shuffled.sort(key=lambda row: queries.index(row[0]))
    assert list(Run.from_rows(shuffled)) == list(Run.from_rows(rows))


class Foreign(NamedTuple):
    """Fields in another order, and more of them."""

    score: float
    doc_id: str
    query_id: str
    note: str = "extra"


@pytest.mark.parametrize(
    "given_run",
    [
        {"q1": {"a": 1.0, "b": 2.5}, "q2": {"a": -1}},
        pd.DataFrame(GIVEN, columns=["query_id", "doc_id", "score"]),
        pd.DataFrame(GIVEN, columns=["qid", "docno", "score"]).assign(rank=0, query="text"),
        pd.DataFrame(GIVEN, columns=["qid", "docno", "score"], index=[7, 7, 9]),
        [ir_measures.ScoredDoc(*row) for row in GIVEN],
        tuple(ScoredDoc(*row) for row in GIVEN),
        [ir_datasets.formats.GenericScoredDoc(*row) for row in GIVEN],
        [Foreign(score, doc, query) for query, doc, score in GIVEN],
    ],
    ids=["dict", "ir_measures", "pyterrier", "index", "scored", "tuple", "generic", "foreign"],
)
def test_a_run_of_anything(given_run: Any) -> None:
    assert list(Run.of(given_run)) == MEANT


@pytest.mark.parametrize(
    "given_run",
    [
        {1: {10: 2.0, 11: 1.0}},
        pd.DataFrame({"query_id": [1, 1], "doc_id": [10, 11], "score": [2.0, 1.0]}),
        pd.DataFrame({"qid": [1, 1], "docno": [10, 11], "score": [2, 1]}),
    ],
    ids=["dict", "ir_measures", "pyterrier"],
)
def test_ids_that_are_numbers_become_text(given_run: Any) -> None:
    assert list(Run.of(given_run)) == [("1", "10", 2.0), ("1", "11", 1.0)]


@pytest.mark.parametrize(
    "given_run",
    [
        {"q": {"d": float("nan")}},
        {"q": {"d": None}},
        pd.DataFrame({"qid": ["q"], "docno": ["d"], "score": [float("inf")]}),
        [ScoredDoc("q", "d", -float("inf"))],
    ],
    ids=["nan", "none", "frame", "scored"],
)
def test_bad_scores_are_refused_wherever_they_come_from(given_run: Any) -> None:
    with pytest.raises(InputError, match="of document d for query q is not a finite"):
        Run.of(given_run)


@pytest.mark.parametrize(
    "given_run",
    [
        {1: {"d": 1.0}, "1": {"d": 2.0}},
        pd.DataFrame({"qid": ["1", "1"], "docno": ["d", "d"], "score": [1, 2]}),
        [ScoredDoc("1", "d", 1.0), ScoredDoc("1", "d", 1.0)],
    ],
    ids=["dict", "frame", "scored"],
)
def test_documents_twice_are_refused_wherever_they_come_from(given_run: Any) -> None:
    with pytest.raises(InputError, match="document d is listed twice for query 1"):
        Run.of(given_run)


@given(rows_with(WORD))
@example([("q", "\u00e9\xa0", 1.0)])
def test_text_round_trip(tmp_path: Path, rows: Rows) -> None:
    assert_round_trip(tmp_path / "x.run", rows)


@given(rows_with(ANYTHING))
@example([("", "a b", 1.0), ("", "\n", 1.0), ("NA", "", 2.0)])
def test_parquet_round_trip(tmp_path: Path, rows: Rows) -> None:
    assert_round_trip(tmp_path / "x.parquet", rows)


@given(
    st.lists(st.text("abcde\u00e9\u6f22\U0001f600\uffee", min_size=1, max_size=3), min_size=2, max_size=8, unique=True),
    st.data(),
)  # fmt: skip
def test_every_place_is_the_one_pytrec_eval_sees(docs: list[str], data: st.DataObject) -> None:
    scores = data.draw(
        st.lists(st.sampled_from([1.0, 1.0 + 1e-9, 2.0, -3.0]), min_size=len(docs), max_size=len(docs))
    )  # fmt: skip
    run = Run.from_rows([("q", doc, score) for doc, score in zip(docs, scores, strict=True)])
    for place, row in enumerate(run.ranking("q"), 1):
        reciprocal = by_pytrec_eval(run, Qrels.from_rows([("q", row.doc_id, 1)]), "recip_rank")["q"]
        assert reciprocal == pytest.approx(1 / place)


def many_qrels() -> Iterator[Any]:
    yield pytest.param({"q1": {"a": 1, "b": 0}, "q2": {"a": 3}}, id="dict")
    frame = pd.DataFrame(GIVEN_QRELS, columns=["query_id", "doc_id", "relevance"])
    yield pytest.param(frame, id="ir_measures")
    frame = frame.assign(iteration="0", relevance=frame.relevance.astype(float))
    yield pytest.param(frame, id="floats")
    frame = pd.DataFrame(GIVEN_QRELS, columns=["qid", "docno", "label"])
    yield pytest.param(frame, id="pyterrier")
    yield pytest.param([ir_measures.Qrel(*row) for row in GIVEN_QRELS], id="qrels")
    generic = [ir_datasets.formats.TrecQrel(*row, "0") for row in GIVEN_QRELS]
    yield pytest.param(generic, id="ir_datasets")


@pytest.mark.parametrize("given_qrels", list(many_qrels()))
def test_qrels_of_anything(given_qrels: Any) -> None:
    assert list(Qrels.of(given_qrels)) == GIVEN_QRELS


@given(
    st.lists(
        st.tuples(WORD, WORD, st.integers(-1000, 1000)), min_size=1, unique_by=lambda r: r[:2]
    ),
    st.sampled_from(["x.qrels", "x.qrels.gz"]),
)
def test_qrels_round_trip(tmp_path: Path, rows: list[tuple[str, str, int]], name: str) -> None:
    Qrels.from_rows(rows).write(tmp_path / name)
    again = Qrels.read(tmp_path / name)
    queries = list(dict.fromkeys(row[0] for row in rows))
    assert list(again) == sorted(rows, key=lambda row: queries.index(row[0]))

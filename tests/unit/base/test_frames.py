"""Data frames with a column twice, and queries that have not been run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError

RUN = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0]})
QRELS = pd.DataFrame({"qid": ["1"], "docno": ["b"], "label": [1]})
DOCS = pd.DataFrame({"docno": ["a", "b"], "text": ["a cat", "a dog"]})
JUDGED = {"1": {"b": 1}}


def twice(frame: Any, name: str) -> Any:
    return pd.concat([frame, frame[[name]]], axis=1)


@pytest.mark.parametrize("name", ["qid", "docno", "score"])
def test_a_column_of_a_run_twice(name: str) -> None:
    both = twice(RUN, name)
    arrow = pa.Table.from_pandas(RUN).append_column(name, pa.array(list(RUN[name])))
    for given in (both, both[sorted(both.columns)].iloc[:, :0].join(both), arrow):
        for use in (
            lambda one: ir.evaluate(JUDGED, one, measures="AP"),
            lambda one: ir.fuse(RUN, one),
            lambda one: ir.compare(JUDGED, RUN, one, measure="AP"),
        ):
            with pytest.raises(InputError, match=f"the data frame of a run has 2 columns {name}"):
                use(given)


@pytest.mark.parametrize(
    ("use", "found"),
    [
        (lambda: ir.evaluate(twice(QRELS, "label"), RUN), "of qrels has 2 columns label"),
        (lambda: ir.index(twice(DOCS, "text")), "of documents has 2 columns text"),
        (lambda: ir.index(twice(DOCS, "docno")), "of documents has 2 columns docno"),
        (
            lambda: ir.load(DOCS, queries=twice(RUN[["qid"]].assign(query="x"), "query")),
            "of queries has 2 columns query",
        ),
    ],
)
def test_a_column_of_others_twice(use: Callable[[], Any], found: str) -> None:
    with pytest.raises(InputError, match=found):
        use()


def test_a_query_of_polars_has_no_rows_yet() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(RUN.to_dict("list")).lazy()
    docs = polars.DataFrame(DOCS.to_dict("list")).lazy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for use in (
            lambda: ir.evaluate(JUDGED, lazy, measures="AP"),
            lambda: ir.evaluate(lazy.rename({"score": "label"}), RUN, measures="AP"),
            lambda: ir.fuse(RUN, lazy),
            lambda: ir.index(docs),
        ):
            with pytest.raises(InputError, match=r"has no rows yet.*collect"):
                use()
    eager = lazy.collect()
    assert ir.evaluate(JUDGED, eager, measures="AP").figures() == {"run": {"AP": 0.5}}

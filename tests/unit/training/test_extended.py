"""Rows of further datasets, and what is left out by its id."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sets import build_training_set
from irtoolkit.training.trainer import split_rows
from irtoolkit.training.training_set import TrainingSet
from tests.datasets import register

EGRET, QUOTER, RELIC = "egret/sample/train", "quoter/sample/en/train", "relic/sample/train/4-4"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def texts(rows: TrainingSet) -> list[tuple[str, str]]:
    return [(rows.queries[row], rows.docs[int(rows.golds[row])]) for row in range(len(rows))]


def test_the_rows_of_further_datasets_follow() -> None:
    alone = [
        build_training_set(Stage(dataset=name, negatives="random", count=1, near=0.8))
        for name in (EGRET, QUOTER, RELIC)
    ]
    stage = Stage(dataset=EGRET, extra=f"{QUOTER}, {RELIC}", negatives="random", count=1, near=0.8)
    rows = build_training_set(stage)
    assert texts(rows) == [pair for one in alone for pair in texts(one)]
    assert rows.what == f"{EGRET} + {QUOTER} + {RELIC}"
    ends = np.cumsum([0, *map(len, alone)])
    names = ["", f"{QUOTER}:", f"{RELIC}:"]
    for one, begin, prefix in zip(alone, ends, names, strict=False):
        for row in range(len(one)):
            here = int(begin) + row
            assert rows.query_ids[here] == prefix + one.query_ids[row]
            pool = {prefix + name for name in one.doc_ids[one.pool(row)]}
            assert {*rows.doc_ids[rows.pool(here)]} == pool
            barred = {prefix + name for name in one.doc_ids[one.excluded(row)]}
            assert {*rows.doc_ids[rows.excluded(here)]} >= barred
    # No group is of two datasets.
    groups = [set(rows.groups[a:b]) for a, b in pairwise(ends)]
    assert sum(map(len, groups)) == len(set(rows.groups))


def test_further_rows_are_never_held_out() -> None:
    stage = Stage(dataset=EGRET, extra=QUOTER, held_out=0.5)
    rows = build_training_set(stage)
    kept, out = split_rows(rows, stage, seed=1)
    alone = build_training_set(replace(stage, extra=None))
    assert out.tolist() == split_rows(alone, replace(stage, extra=None), seed=1)[1].tolist()
    assert len(kept) + len(out) == len(rows)
    # The same queries of another dataset are neither held out nor trained on.
    docs = {"d1": "one text", "d2": "another"}
    asked = {f"q{i}": f"the {i}th query" for i in range(6)}
    grades = [(name, "d1", 1) for name in asked]
    one = register(docs, asked, qrels=grades)
    other = register(docs, {**asked, "more": "a new query"}, qrels=[*grades, ("more", "d2", 1)])
    twice = Stage(dataset=one, extra=other, held_out=0.5)
    rows = build_training_set(twice)
    kept, out = split_rows(rows, twice, seed=1)
    assert len(out) == 3
    assert sorted(rows.queries[row] for row in kept) == sorted(
        ["a new query", *2 * [asked[name] for name in asked if name not in rows.query_ids[out]]]
    )


def test_queries_and_books_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "ids.txt"
    whole = build_training_set(Stage(dataset=EGRET))
    file.write_text(f"{whole.query_ids[0]}\n\n  {whole.query_ids[7]}  \nunknown\n")
    rows = build_training_set(Stage(dataset=EGRET, without=str(file)))
    gone = {whole.query_ids[0], whole.query_ids[7]}
    assert list(rows.query_ids) == [name for name in whole.query_ids if name not in gone]
    assert f"2 of {len(whole)} queries of {EGRET} are left out" in caplog.text

    [book] = {doc.book for doc in Dataset.load(RELIC).docs_iter()}
    file.write_text(f"{book}\n")
    with pytest.raises(InputError, match="leaves out all 14 queries"):
        build_training_set(Stage(dataset=RELIC, without=str(file)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"extra": EGRET}, "is trained on already"),
        ({"extra": f"{QUOTER},{QUOTER}"}, "is trained on already"),
        ({"extra": QUOTER, "negatives": "mined", "count": 1, "run": "a.run"}, "only"),
        ({"extra": QUOTER, "source": "examples", "file": "a"}, "extra=.* with source=examples"),
        ({"without": "nowhere.txt"}, "nowhere.txt: no such file"),
        ({"extra": "no/such"}, "no/such"),
    ],
)
def test_what_cannot_be_added_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build_training_set(Stage(**{"dataset": EGRET, **settings}))  # type: ignore[arg-type]


def test_ids_of_two_datasets_do_not_meet() -> None:
    docs, asked = {"d1": "one text", "d2": "another"}, {"q1": "first", "q2": "second"}
    one = register(docs, asked, qrels=[("q1", "d1", 1), ("q2", "d2", 1)])
    other = register(docs, asked, qrels=[("q1", "d2", 1)])
    rows = build_training_set(Stage(dataset=one, extra=other))
    assert list(rows.query_ids) == ["q1", "q2", f"{other}:q1"]
    assert list(rows.doc_ids[rows.golds]) == ["d1", "d2", f"{other}:d2"]

"""Ids and queries as they are given to an index, and what a handle of a kept index shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.stored_index import StoredIndex

DOCS = {"1": "a whale", "2": "a boat", "12": "a whale in a boat", "b": "the sea"}
QUERIES = {"q1": "whale", "q2": "boat"}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredIndex:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    made = ir.index(DOCS, "bm25", tmp_path / "index", progress=False)
    assert isinstance(made, StoredIndex)
    return made


def live(index: Any) -> set[str]:
    found = index.search_many(["whale", "boat", "sea"], k=10)
    return {row.doc_id for query in "012" for row in found.ranking(query)}


@pytest.mark.parametrize("ids", [12, [12], b"12", ["1", None], [["1"]]])
def test_an_id_that_is_no_string_deletes_nothing(index: StoredIndex, ids: Any) -> None:
    with pytest.raises(InputError, match=r"document id .* is not a string"):
        index.delete(ids)
    assert live(index.reopened()) == set(DOCS)


def forms(folder: Path) -> dict[str, Any]:
    """The same queries as anything that holds queries."""
    lines = [json.dumps({"id": key, "text": text}) for key, text in QUERIES.items()]
    (folder / "topics.jsonl").write_text("\n".join(lines) + "\n")
    rows = "".join(f"{key}\t{text}\n" for key, text in QUERIES.items())
    (folder / "topics.tsv").write_text(rows)
    return {
        "pairs": list(QUERIES.items()),
        "a string": str(folder / "topics.tsv"),
        "a path": folder / "topics.jsonl",
        "a generator": (pair for pair in QUERIES.items()),
        "a frame": pd.DataFrame(QUERIES.items(), columns=["qid", "query"]),
    }


def test_queries_in_any_form(index: StoredIndex, tmp_path: Path) -> None:
    for searched in (index, ir.index(DOCS)):
        expected = searched.search_many(QUERIES).as_dict()
        assert [next(iter(docs)) for docs in expected.values()] == ["1", "2"]
        for form, queries in forms(tmp_path).items():
            assert searched.search_many(queries).as_dict() == expected, form
        by_place = searched.search_many(list(QUERIES.values())).as_dict()
        assert list(by_place.values()) == list(expected.values())


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        (lambda _: "whale", "'whale' is not a collection of queries"),
        (lambda _: b"whale", "is not a collection of queries"),
        (lambda _: {1: "whale", "1": "boat"}, "query 1 occurs twice"),
        (lambda _: ["whale", " "], "query 1 has no text"),
        (lambda _: iter([]), "there are no queries"),
    ],
)
def test_what_holds_no_queries_is_refused(
    index: StoredIndex, tmp_path: Path, queries: Callable[[Path], Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        index.search_many(queries(tmp_path))


@pytest.mark.parametrize("used", [False, True])
def test_a_handle_shows_the_index_as_it_was_when_it_was_opened(
    index: StoredIndex, used: bool
) -> None:
    other = ir.open_index(index.folder)
    if used:
        assert live(index) == live(other) == set(DOCS)
    added = index.add({"new": "a boat at sea"})
    less = added.delete(["1", "12"])
    assert live(less) == live(index.reopened()) == {"2", "b", "new"}
    assert live(added) == {*DOCS, "new"}
    assert live(index) == live(other) == live(index.with_settings(k1=2)) == set(DOCS)
    assert (len(index), len(added), len(less)) == (4, 5, 3)

    late, merged = less.reopened(), less.merge()
    assert live(less) == live(merged) == {"2", "b", "new"}
    assert live(late) == {"2", "b", "new"}
    assert index.verify() == merged.verify()
    assert live(index) == live(other) == set(DOCS)


def test_a_handle_whose_files_are_gone_says_so(index: StoredIndex) -> None:
    index.delete("1").merge()
    with pytest.raises(
        InputError, match=r"changed and merged since it was opened \(open it again\)"
    ):
        live(index)
    assert live(index.reopened()) == {"2", "12", "b"}

"""Documents and queries of one's own: what is read, and what is refused in one line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.csfcube.documents import read_documents, write_documents
from irtoolkit.building.csfcube.queries import read_queries, sample_queries
from irtoolkit.building.csfcube.sheets import assigned, check_annotators
from tests.conftest import SAMPLE

GOOD = {"id": "a", "title": "A", "abstract": ["One.", "Two."], "labels": ["objective", "method"]}
DOCS = read_documents([SAMPLE / "abstracts-csfcube-preds.jsonl"])


def written(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "docs.jsonl"
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_the_release_and_simple_records_are_read(tmp_path: Path) -> None:
    (doc,) = read_documents([written(tmp_path, {**GOOD, "year": 1999})]).values()
    assert (doc.doc_id, doc.labels, doc.year) == ("a", ("objective", "method"), 1999)
    write_documents(tmp_path / "again.jsonl", DOCS.values())
    assert read_documents([tmp_path / "again.jsonl"]) == DOCS


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"id": "b", "tit', "not JSON"),
        ({**GOOD, "id": "b c"}, "an id without white space"),
        ({**GOOD, "id": "b", "title": None}, "b has no title"),
        ({**GOOD, "id": "b", "abstract": []}, "no list of sentences"),
        ({**GOOD, "id": "b", "labels": ["method"]}, "2 sentences and 1 labels"),
        ({**GOOD, "id": "b", "year": "1999"}, "the year '1999'"),
    ],
)
def test_a_bad_document_is_named_with_its_line(tmp_path: Path, record: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_documents([written(tmp_path, GOOD, record)])
    assert caught.value.line == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("pid,facet\n910000057,method\n12,method\n", 3, "query paper 12 is no document"),
        ("pid,facet\n910000057,method\n910000057,method\n", 3, "there twice"),
        ("pid,facet\n910000057\n", 2, "1 field, and 2 columns"),
        ("pid,facet,depth\n910000057,method,0\n", 2, "the depth is '0'"),
        ("pid,facet\n", None, "no queries"),
    ],
)
def test_bad_queries(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    path = tmp_path / "queries.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=said) as caught:
        read_queries(path, DOCS)
    assert caught.value.line == line


def test_a_facet_without_a_sentence(tmp_path: Path) -> None:
    docs = read_documents([written(tmp_path, GOOD)])
    path = tmp_path / "queries.tsv"
    path.write_text("id\tfacet\na\tresult\n", "utf-8")
    with pytest.raises(InputError, match=r"no sentence of its result \(it has background, method"):
        read_queries(path, docs)


def test_a_sample_is_balanced_and_the_same_again() -> None:
    drawn = sample_queries(DOCS, 24, 5)
    counts = Counter(each.query.facet for each in drawn)
    assert len({each.query_id for each in drawn}) == 24
    assert max(counts.values()) - min(counts.values()) <= 1
    assert sum(n == 2 for n in Counter(e.query.doc_id for e in drawn).values()) in (7, 8)
    assert sample_queries(DOCS, 24, 5) == drawn
    assert sample_queries(DOCS, 24, 6) != drawn
    with pytest.raises(InputError, match="500 queries are requested"):
        sample_queries(DOCS, 500, 0)
    for count in (0, -1):
        with pytest.raises(InputError, match=f"{count} queries are requested"):
            sample_queries(DOCS, count, 0)


def test_annotators_share_the_work() -> None:
    queries = [each.query for each in sample_queries(DOCS, 24, 5)]
    of_query = assigned(queries, ("d", "c", "b", "a"), 0)
    assert {*Counter(map(frozenset, of_query.values())).values()} == {4}  # of six couples


@pytest.mark.parametrize("names", [["ann", "Ann"], ["ann"], ["ann", "b c"], ["ann", "x/y"]])
def test_annotators_have_names_of_their_own(names: list[str]) -> None:
    with pytest.raises(InputError, match="annotator"):
        check_annotators(names)

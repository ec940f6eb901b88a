"""What ir_datasets' own tools get of every registered dataset."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import NamedTuple, Optional

import ir_datasets
import pytest
from ir_datasets.commands import export
from ir_datasets.commands.export import is_tuple_elip

from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.registration import with_real_types
from tests.each import each

Export = Callable[..., str]


@pytest.fixture
def exported(capsys: pytest.CaptureFixture[str]) -> Export:
    """Returns what `ir_datasets export` prints, where irtoolkit's datasets are registered."""

    def run(*words: str) -> str:
        export.main(words)
        return capsys.readouterr().out

    return run


KINDS = ("docs", "queries", "qrels", "scoreddocs")
SAMPLES = [name for name in dataset_ids() if "/sample" in name]
DERIVED = ["plotretrieval/sample/val/m3", "plotretrieval/sample/val/m3/book"]


class Record(NamedTuple):
    doc_id: str
    year: Optional[int]  # noqa: UP045
    parts: tuple[str, ...]


@each("name", [*dataset_ids(), *DERIVED])
def test_annotations_are_types(name: str) -> None:
    dataset = ir_datasets.load(name)
    for kind in KINDS:
        if dataset.has(kind):
            record = getattr(dataset, f"{kind}_cls")()
            assert set(record._fields) <= set(record.__annotations__)
            for field in record._fields:
                hint = record.__annotations__[field]
                assert hint in (str, int, float) or is_tuple_elip(hint), (name, kind, field)


def test_a_name_becomes_its_type() -> None:
    assert Record.__annotations__["doc_id"] is not str
    assert with_real_types(with_real_types(Record)) is Record
    assert Record.__annotations__["doc_id"] is str
    assert Record.__annotations__["year"] is int
    assert is_tuple_elip(Record.__annotations__["parts"])


@pytest.mark.parametrize("name", [*SAMPLES, *DERIVED])
def test_counts_and_metadata(name: str) -> None:
    dataset = ir_datasets.load(name)
    found = dataset.metadata()
    assert found.keys() == {kind for kind in KINDS if dataset.has(kind)}
    for kind, about in found.items():
        count = sum(1 for _ in getattr(dataset, f"{kind}_iter")())
        assert about["count"] == getattr(dataset, f"{kind}_count")() == count > 0
    if "docs" in found:
        ids = [len(doc.doc_id.encode()) for doc in dataset.docs_iter()]
        assert found["docs"]["fields"]["doc_id"]["max_len"] == max(ids)
    if "qrels" in found:
        counts = found["qrels"]["fields"]["relevance"]["counts_by_value"]
        assert sum(counts.values()) == found["qrels"]["count"]


@each("name", [*dataset_ids(), *DERIVED])
def test_datasets_are_pickled_by_id(name: str) -> None:
    dataset = ir_datasets.load(name)
    assert pickle.loads(pickle.dumps(dataset)) is dataset


def test_exported_queries_are_whole(exported: Export) -> None:
    for name in ("quoter/sample/en/test", "egret/sample/dev"):
        queries = list(ir_datasets.load(name).queries_iter())
        lines = exported(name, "queries").splitlines()
        assert lines == ["\t".join(query) for query in queries]
        rows = exported(name, "queries", "--format", "jsonl")
        assert [json.loads(row) for row in rows.splitlines()] == [q._asdict() for q in queries]


def test_exported_qrels_are_qrels(exported: Export) -> None:
    rows = list(ir_datasets.load("csfcube/sample").qrels_iter())
    lines = exported("csfcube/sample", "qrels", "--fields", "relevance").splitlines()
    assert lines == [f"{row.query_id} 0 {row.doc_id} {row.relevance}" for row in rows]
    first = exported("csfcube/sample", "qrels", "--fields", "relevance", "ratings").splitlines()[0]
    assert first.endswith(str(rows[0].ratings))

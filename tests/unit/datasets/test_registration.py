"""What ir_datasets' own tools get of every registered dataset."""

from __future__ import annotations

import pickle
from typing import NamedTuple, Optional

import ir_datasets
import pytest
from ir_datasets.commands.export import is_tuple_elip

from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.registration import with_real_types
from tests.each import each

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

"""Texts of a collection, read in blocks from any document on."""

from __future__ import annotations

import numpy as np
import pytest
from ir_datasets.formats import GenericDoc

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.texts import DocTexts, text_batches, view
from tests.datasets import DOCS, Docs, register, register_parts

COLLECTIONS = (
    ("relic/sample/val", "sentences"),
    ("relic/sample/val", "default"),
    ("relic/sample/val", "text"),
    ("relic/sample/val", "book+text"),
    ("plotretrieval/sample/val", "sentences"),
    ("csfcube/sample", "title+sentences"),
    ("egret/sample/dev", "default"),
    ("quoter/sample/zh/test", "text"),
)


@pytest.mark.parametrize(("name", "shown"), COLLECTIONS)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_hold_what_the_records_show(name: str, shown: str, size: int) -> None:
    dataset = Dataset.load(name)
    records = list(dataset.docs_iter())
    expected = [(record.doc_id, view(record, shown)) for record in records]
    for start in (0, 1, size, len(records) - 1, len(records), len(records) + 5):
        blocks = list(text_batches(dataset, shown, start, size))
        found = [pair for ids, texts in blocks for pair in zip(ids, texts, strict=True)]
        assert found == expected[start:]
        assert all(len(ids) == size for ids, _ in blocks[:-1])
        assert all(ids for ids, _ in blocks)


def test_datasets_of_others_are_read_from_any_document_on() -> None:
    plain = Dataset.load(register_parts(Docs(DOCS)))  # an iterator that cannot be sliced
    sliced = Dataset.load(register({doc: GenericDoc(doc, text) for doc, text in DOCS.items()}))
    for dataset in (plain, sliced):
        blocks = list(text_batches(dataset, "default", 2, 3))
        assert [ids for ids, _ in blocks] == [["d3", "d4", "d5"], ["d6", "d7"]]
        assert [text for _, texts in blocks for (text,) in texts] == list(DOCS.values())[2:]


@pytest.mark.parametrize(("name", "shown"), COLLECTIONS)
def test_texts_of_some_documents_are_those_of_their_records(name: str, shown: str) -> None:
    dataset = Dataset.load(name)
    records = {record.doc_id: record for record in dataset.docs_iter()}
    ids = id_array(list(records))
    chosen = np.random.default_rng(1).permutation(len(ids))[: len(ids) // 2]
    for docs in (chosen, np.sort(chosen), chosen[:1], chosen[:0], np.array([0, 0, 1, 0])):
        found = list(DocTexts(dataset, ids, shown)[docs])
        assert found == [view(records[doc_id], shown) for doc_id in ids[docs]]
    whole = list(DocTexts(dataset, ids, shown, whole=True))
    assert whole == [view(record, shown) for record in records.values()]


@pytest.mark.parametrize("shown", ["sentences", "book"])
def test_a_candidate_without_a_text_is_named(shown: str) -> None:
    dataset = Dataset.load("relic/sample/val")
    with pytest.raises(InputError, match=r"candidate nobody:1\+1 has no text in relic/sample/val"):
        list(DocTexts(dataset, id_array([next(dataset.docs_iter()).doc_id, "nobody:1+1"]), shown))

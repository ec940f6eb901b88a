"""Document lengths as Lucene stores them, in memory and in indexes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.ranking.build_index import build
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.bm25_forms import stored_lengths
from irtoolkit.retrievers.stored_index import StoredIndex

# A document without a term, one of stop words alone, and lengths that one byte does not hold.
DOCS = {
    "empty": "", "stop": "the of and", "short": "cat dog", "long": "cat " + "filler " * 57,
    "longer": "dog cat cat " + "other words here " * 100,
}  # fmt: skip


def test_one_byte_holds_lengths_to_40_and_rounds_longer_ones_down() -> None:
    stored = stored_lengths(np.arange(5000), "lucene").tolist()
    assert stored[:41] == list(range(41))
    assert stored[41:60:2] == [40, 42, 44, 46, 48, 50, 52, 54, 56, 56]
    assert all(0.88 * length < found <= length for length, found in enumerate(stored) if length)
    assert stored == sorted(stored)
    assert stored_lengths(np.arange(100), "exact").tolist() == list(range(100))


def lucenes() -> dict[str, float]:
    """The scores of the query "cat" by Lucene's formula, written out."""
    lengths = {"short": (2, 2), "long": (58, 56), "longer": (303, 280)}
    average = sum(exact for exact, _ in lengths.values()) / len(lengths)
    idf = math.log(1 + 0.5 / 3.5)
    counts = {"short": 1, "long": 1, "longer": 2}
    return {
        doc: idf * tf / (tf + 0.9 * (0.6 + 0.4 * lengths[doc][1] / average))
        for doc, tf in counts.items()
    }


def scores(found: Any) -> dict[str, float]:
    return {hit.doc_id: hit.score for hit in found if hit.score > 0}


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_an_index_scores_as_lucene_does(memory: int, tmp_path: Path) -> None:
    system = find_system("bm25-anserini", {})
    build(ir.load(DOCS, name="docs"), system, tmp_path / "index", memory=memory, progress=False)
    assert scores(StoredIndex(tmp_path / "index").search("cat")) == pytest.approx(lucenes())


def test_a_shard_counts_no_deleted_document(tmp_path: Path) -> None:
    more = {**DOCS, "gone": "cat cat", "blank": "the"}
    data, system = ir.load(more, name="docs"), find_system("bm25-anserini", {})
    index = build(data, system, tmp_path / "index", progress=False).delete(["gone", "blank"])
    assert scores(index.search("cat")) == pytest.approx(lucenes())


def test_documents_in_memory_score_as_lucene_does() -> None:
    index = ir.index(DOCS, "bm25-anserini")
    assert scores(index.search("cat")) == pytest.approx(lucenes())
    exact = ir.index(DOCS, "bm25-anserini", lengths="exact")
    assert scores(exact.search("cat")) != pytest.approx(lucenes(), rel=1e-3)


def test_rm3_takes_the_lengths_too() -> None:
    index = ir.index(DOCS, "rm3", lengths="lucene", original_query_weight=1)
    assert scores(index.search("cat")) == pytest.approx(lucenes())

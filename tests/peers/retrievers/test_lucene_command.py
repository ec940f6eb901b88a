"""A Lucene index that `irtoolkit index` writes, read by Pyserini and by the retriever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer
from tests.lucene import import_pyserini, with_java

DOCS = {"a": "cats and dogs", "blank": " ", "c": "a whale and a cat", "d": "a whale, a whale"}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in DOCS.items()))
    return path


@with_java
def test_pyserini_reads_the_index(
    docs: Path, tmp_path: Path, irtoolkit: Callable[..., Answer]
) -> None:
    folder, topics = tmp_path / "made" / "index", tmp_path / "topics.tsv"
    topics.write_text("q1\twhales\n")
    answer = irtoolkit("index", docs, "lucene", "-o", folder)
    assert answer.status == 0
    assert "3 documents" in answer.out
    searcher = import_pyserini().LuceneSearcher(str(folder))
    searcher.set_rm3()
    assert [hit.docid for hit in searcher.search("whales")] == ["d", "c"]
    run = tmp_path / "mine.run"
    asked = ("retrieve", docs, "lucene", "--topics", topics, "-o", run, "--index", folder)
    assert irtoolkit(*asked).status == 0
    assert [line.split()[2] for line in run.read_text().splitlines()][:2] == ["d", "c"]
    again = irtoolkit("index", docs, "lucene", "-o", folder)
    assert again.status != 0
    assert "there is something in" in again.err


def test_a_lucene_index_needs_a_folder(docs: Path, irtoolkit: Callable[..., Answer]) -> None:
    answer = irtoolkit("index", docs, "lucene")
    assert answer.status != 0
    assert "--output FOLDER" in answer.err

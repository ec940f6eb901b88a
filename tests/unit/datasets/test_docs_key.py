"""What tells a dataset's documents from others without reading them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ir_datasets.formats import BaseDocs, GenericDoc
from ir_datasets.indices import Docstore, PickleLz4FullStore

from irtoolkit.datasets.csfcube_release import docs_key
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.egret import read_egret
from irtoolkit.datasets.plotretrieval_release import read_plotretrieval
from irtoolkit.datasets.quoter_release import read_quoter
from irtoolkit.datasets.relic_release import read_relic
from tests.conftest import ROOT
from tests.datasets import register_parts

SAMPLES = ROOT / "irtoolkit" / "datasets" / "samples"
# Benchmark to what reads the key of a folder's documents, and a file with words of them.
RELEASES: dict[str, tuple[Callable[[Path], str], str]] = {
    "relic": (lambda at: read_relic(at / "val.json", False).key, "val.json"),
    "plotretrieval": (lambda at: read_plotretrieval(at, "val", 3).key, "books/*.json"),
    "quoter": (lambda at: read_quoter(at / "english.txt", "en").key, "english.txt"),
    "egret": (lambda at: read_egret(at).key, "eli5-dev-kilt.jsonl"),
    "csfcube": (lambda at: docs_key.__wrapped__(at), "abstracts-csfcube-preds.jsonl"),
}


@pytest.mark.parametrize("name", RELEASES)
def test_the_key_changes_with_any_text_and_not_with_the_folder(name: str, tmp_path: Path) -> None:
    key_of, pattern = RELEASES[name]
    folder, copy = tmp_path / "a", tmp_path / "b"
    for place in (folder, copy):
        shutil.copytree(SAMPLES / name, place)
    before = key_of(folder)
    assert before
    assert key_of(copy) == before
    changed = next(copy.glob(pattern))
    changed.write_text(changed.read_text("utf-8").replace("the ", "thee ", 1), "utf-8")
    assert key_of(copy) != before


class Stored(BaseDocs):  # type: ignore[misc]
    """Documents that ir_datasets keeps in files, as it does with those it has downloaded."""

    def __init__(self, folder: Path, texts: list[str]) -> None:
        self._store = PickleLz4FullStore(
            str(folder), lambda: self._records(texts), GenericDoc, "doc_id", ["doc_id"]
        )

    @staticmethod
    def _records(texts: list[str]) -> Iterator[GenericDoc]:
        return (GenericDoc(str(number), text) for number, text in enumerate(texts))

    def docs_iter(self) -> Any:
        return iter(self._store)

    def docs_store(self) -> Docstore:
        return self._store


def test_documents_that_ir_datasets_has_built_are_known_by_their_files(tmp_path: Path) -> None:
    def key(name: str, texts: list[str], build: bool = True) -> str | None:
        docs = Stored(tmp_path / name, texts)
        if build:
            docs.docs_store().build()
        return Dataset.load(register_parts(docs)).docs_key

    assert key("a", ["one", "two"], build=False) is None
    first = key("a", ["one", "two"])
    assert first is not None
    assert key("a", ["one", "two"]) == key("b", ["one", "two"]) == first
    assert key("c", ["one", "too"]) != first

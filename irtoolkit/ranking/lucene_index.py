"""Lucene indexes of datasets, written to a folder for `lucene` and for Pyserini."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, on_disk
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.lucene.indexing import lucene_analyzer, write_index
from irtoolkit.retrievers.lucene.retriever import Lucene
from irtoolkit.retrievers.texts import text_batches


def build_lucene(data: Dataset, system: System, folder: StrPath | None) -> tuple[Path, int]:
    """Writes the documents of a dataset to a Lucene index, with document vectors.

    Args:
        data: the documents.
        system: of the retriever `lucene`, whose analyzer is used.
        folder: a folder that is new or empty.

    Returns:
        The folder, and the number of documents that have text.

    Raises:
        InputError: there is no folder to write to, or Java is missing.
    """
    retriever = system.retriever
    assert isinstance(retriever, Lucene)
    if folder is None:
        raise InputError("a Lucene index needs a folder", remedy="name it with --output FOLDER")
    if retriever.index is not None:
        raise InputError("index= names an index to search", remedy="leave it out")
    check_runnable(system)
    path = on_disk(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"there is something in {path}", remedy="name another folder")
    texts = _texts(data, system.task.doc)
    return path, write_index(
        path.absolute(), texts, data.docs_count(), lucene_analyzer(retriever.analyzer)
    )


def _texts(data: Dataset, view: str) -> Iterator[tuple[str, str]]:
    for doc_ids, texts in text_batches(data, view):
        for doc_id, segments in zip(doc_ids, texts, strict=True):
            yield doc_id, " ".join(segments)

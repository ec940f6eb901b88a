"""Indexes by the name of a system: built, and found again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, is_url, on_disk
from irtoolkit.base.shared import shared_place
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import GenericDoc, IrDataset
from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.datasets.local.unregistered import holds_documents
from irtoolkit.datasets.text_file import is_text_file
from irtoolkit.indexes import writer
from irtoolkit.indexes.manifest import Manifest
from irtoolkit.indexes.remote import is_index
from irtoolkit.ranking.memory_index import MemoryIndex, check_indexable
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.systems import System, check_search_settings, find_system
from irtoolkit.retrievers import build_index
from irtoolkit.retrievers.index import Index
from irtoolkit.retrievers.index_folder import other_documents
from irtoolkit.retrievers.index_sources import dataset_with, source_of
from irtoolkit.retrievers.lucene.indexing import lucene_analyzer, write_index
from irtoolkit.retrievers.lucene.retriever import Lucene
from irtoolkit.retrievers.stored_index import StoredIndex
from irtoolkit.retrievers.texts import DEFAULT_VIEW, text_batches

# What searches documents that are no books, unless another system is named.
DEFAULT = "bm25"


def open_kept(index: str, system: str | None, settings: Mapping[str, Any]) -> StoredIndex:
    """The index of a folder, or that of a dataset and a system in irtoolkit's cache.

    Args:
        index: the folder or URL, or a dataset's id.
        system: the name of the system; by default the one that a folder was built for, and bm25 for
            a dataset.
        settings: of the search.

    Raises:
        InputError: there is no such index.
    """
    if _is_kept(index):
        return folder_index(index, system, settings)
    data, resolved = _documents_and_system(index, system or DEFAULT, settings)
    index_folder = kept_folder(data, resolved)
    existing = next(
        (path for path in (index_folder, shared_place(index_folder)) if path and is_index(path)),
        None,
    )
    if existing is None:
        name = system or DEFAULT
        raise InputError(
            f"{index} has no index for {name}", remedy=f"irtoolkit index {index} {name}"
        )
    return StoredIndex.searched_with(existing, resolved.retriever)


def open_or_prepare(index: str, system: str | None, settings: Mapping[str, Any]) -> Index:
    """The index of a folder, or that of a dataset, prepared if need be; arguments as for `open_kept`."""
    if _is_kept(index):
        return folder_index(index, system, settings)
    return prepare(*_documents_and_system(index, system or DEFAULT, settings))


def _is_kept(index: str) -> bool:
    return (is_url(index) and not is_text_file(index)) or is_index(index)


def _documents_and_system(
    index: str, system: str, settings: Mapping[str, Any]
) -> tuple[Dataset, System]:
    """Returns a dataset by its id, and the system that searches its documents."""
    if Path(index).is_dir() and not holds_documents(Path(index)):
        Manifest.read(Path(index))
    try:
        data = dataset_with(index)
    except InputError as error:
        if not error.found.startswith("no dataset"):
            raise
        raise InputError(f"{error.found}, and no index at {index}", remedy=error.remedy) from None
    check_search_settings(settings)
    return data, find_system(system, settings, data.parts).on(data.lang)


def prepare(data: Dataset, system: System, *, progress: bool = True) -> Index:
    """The index of a dataset's documents: in the cache, or in memory if the system keeps none.

    Raises:
        InputError: see `build`.
    """
    if system.retriever.index_format() is None:
        return MemoryIndex(data, system)
    return build(data, system, progress=progress)


def folder_index(
    folder: StrPath, system: str | None, settings: Mapping[str, Any], dataset: DatasetId | str = ""
) -> StoredIndex:
    """The index of a folder or URL, searched by what it was built for unless another system is named.

    `dataset` tells systems of one name apart.

    Raises:
        InputError: see `StoredIndex`; no such system; or one that needs other documents.
    """
    if system is None:
        return StoredIndex(folder, settings)
    check_search_settings(settings)
    requested = find_system(system, settings, dataset)
    index = StoredIndex(folder, requested.retriever.given(), requested.retriever.name)
    if requested.task.doc not in (DEFAULT_VIEW, index.manifest.view):
        raise other_documents(index.folder, f"doc={index.manifest.view}")
    return index


def build(
    data: Dataset,
    system: System,
    folder: StrPath | None = None,
    *,
    memory: int = writer.MEMORY,
    replace: bool = False,
    progress: bool = True,
) -> StoredIndex:
    """The index of a dataset's documents for a system; see `retrievers.build_index.build`.

    Raises:
        InputError: the system cannot be indexed with, or cannot run here; or what building raises.
    """
    check_indexable(data, system)
    check_runnable(system)
    with system.reading(data.id):
        return build_index.build(
            data,
            system.retriever,
            system.task.doc,
            folder,
            memory=memory,
            replace=replace,
            progress=progress,
        )


def kept_folder(data: Dataset, system: System) -> Path:
    """Returns where the index of a dataset is kept unless another place is named."""
    source = source_of(data, system.task.doc)
    return build_index.kept_folder(source, system.retriever.on(data.lang), system.task.doc)


def index_dataset(folder: StrPath) -> Dataset:
    """Returns the documents of an index, which has neither queries nor judgments.

    Raises:
        InputError: there is no index, it is damaged, or stores no texts.
    """
    index = StoredIndex(folder)
    if any(shard.documents.texts is None for shard in index.open_shards):
        raise InputError(
            "this index stores no texts",
            file=folder,
            remedy="name the dataset that it was built of",
        )
    docs: Any = DocsHandler(cache(lambda: index_texts(index)), GenericDoc, index.name, None)
    return Dataset(index.name, IrDataset(docs), in_memory=True)


def index_texts(index: StoredIndex) -> Mapping[str, GenericDoc]:
    """Returns the documents of an index by id, without deleted ones."""
    documents: dict[str, GenericDoc] = {}
    for shard in index.open_shards:
        ids, texts = shard.documents.ids, shard.documents.texts
        if texts is None:
            continue
        for position in shard.live.nonzero()[0].tolist():
            documents[ids[position]] = GenericDoc(ids[position], texts[position])
    return documents


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

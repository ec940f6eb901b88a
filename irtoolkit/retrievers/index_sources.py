"""Where the documents of an index come from, and how they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, is_url, url_of
from irtoolkit.base.remote import name_of
from irtoolkit.datasets.book_files import dataset_of_books, is_book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.memory import dataset_at, dataset_of_texts
from irtoolkit.datasets.novels import LENGTH
from irtoolkit.datasets.text_file import is_text_file
from irtoolkit.engines.engine import current
from irtoolkit.indexes import writer
from irtoolkit.indexes.manifest import DocumentSource
from irtoolkit.indexes.parallel import by_workers
from irtoolkit.retrievers.sent import Sent
from irtoolkit.retrievers.texts import BLOCK_DOCS, text_batches

# Documents that are read at once, and characters from which on they make a block.
_READ_DOCS, _BLOCK_CHARACTERS = 1 << 9, 1 << 24


@dataclass(frozen=True, eq=False)
class DatasetBlocks:
    """The documents of a dataset from a number on, in blocks; it can be sent to other processes.

    Datasets with an id are read where they are asked for; texts in memory are sent along.

    Attributes:
        data: whose documents.
        view: the view of their texts.
        read: documents that are read at once.
        block: documents of a block.
    """

    data: Dataset
    view: str
    read: int
    block: int

    def __call__(self, start: int) -> Iterator[writer.DocumentBlock]:
        ids: list[str] = []
        texts: list[Any] = []
        size = 0
        for more_ids, more in text_batches(self.data, self.view, start, self.read):
            ids, texts = ids + more_ids, texts + more
            size += sum(len(part) for text in more for part in text)
            # Whatever the number that it began with, a block ends after the same document.
            if len(ids) >= self.block or size >= _BLOCK_CHARACTERS:
                yield writer.DocumentBlock(ids, texts)
                ids, texts, size = [], [], 0
        if ids:
            yield writer.DocumentBlock(ids, texts)


def reading_of(data: Dataset, source: DocumentSource, view: str) -> writer.Reading:
    """The documents of a dataset, to be put into an index."""
    blocks = DatasetBlocks(data, view, _READ_DOCS, BLOCK_DOCS)
    count: Callable[[], int] | None = getattr(data, "docs_count", None)
    return writer.Reading(source, blocks, None if count is None else count(), BLOCK_DOCS)


@dataclass(frozen=True)
class MadeBy:
    """Makes what makes the shards of a retriever; it can be sent to other processes.

    Attributes:
        retriever: a `Retriever` that keeps indexes.
        memory: bytes that a shard may take while it is made.
        sent: the retriever on its way to workers.
    """

    retriever: Any
    memory: int
    sent: Sent | None = field(default=None, repr=False)

    def __call__(self) -> writer.ShardMaker:
        retriever: Any = self.retriever if self.sent is None else self.sent.here()
        maker: writer.ShardMaker = retriever.index_format().maker(self.memory)
        return maker


def put_documents(
    target: writer.Target, reading: writer.Reading, make: MadeBy, *, progress: bool = True
) -> None:
    """Puts documents into an index: here, or where there are several in the workers of the engine.

    Where rankings depend on shards, workers encode the documents, and this process makes the shards
    that it makes without them.
    """
    entries = None
    if current().workers > 1:
        from irtoolkit.retrievers.neural import encode_ahead

        # A text that is in two ranges is encoded once, and as one process would encode it.
        encode_ahead(make.retriever, (block.texts for block in reading.blocks(0)))
    splits = make.retriever.index_format().is_exact
    if current().workers > 1 and reading.total is not None and splits:
        gpus = float(make.retriever.computed().get("device", "cpu") != "cpu")
        entries = by_workers(gpus)
        make = replace(make, sent=Sent.of(make.retriever))
    writer.put(target, reading, make, progress=progress, entries=entries)


def source_of(data: Dataset, view: str) -> DocumentSource:
    """Where documents come from, with a hash of what they are.

    They are read for it where nothing else tells whether they have changed.
    """
    key = data.docs_key
    if key is None:
        # Handlers of other packages may have no store.
        store: Any = data.docs_store() if hasattr(data, "docs_store") else None
        if hasattr(store, "built") and not store.built():
            store.build()
            key = data.docs_key
    if key is None:
        digest = hashlib.sha256()
        for ids, texts in text_batches(data, view, 0, _READ_DOCS):
            for doc_id, segments in zip(ids, texts, strict=True):
                line = "\x1f".join((doc_id, *segments, "\x1e"))
                digest.update(line.encode(errors="surrogatepass"))
        key = f"texts-{digest.hexdigest()[:40]}"
    return DocumentSource(data.id, key)


def dataset_with(data: Any, sentences: int | None = None) -> Dataset:
    """The dataset that has some documents: itself, one of an id, or of texts that are given.

    Those of a file have the name of the file; those of a book are its passages of so many
    `sentences`.
    """
    if is_book(data):
        return dataset_of_books([data], sentences or LENGTH)
    if sentences is not None:
        raise InputError("sentences go with books", remedy="a book is a .txt file")
    if isinstance(data, str | PathLike) and is_text_file(str(data)):
        return dataset_of_texts(data, name=data_name(data))
    if isinstance(data, str | PathLike) and (is_url(data) or Path(data).exists()):
        return dataset_at(str(data))
    named = isinstance(data, Dataset | str) or hasattr(data, "docs_iter")
    return Dataset.of(data) if named else dataset_of_texts(data)


def data_name(path: StrPath) -> str:
    """Returns the name of the documents of a file: that of the file."""
    url = url_of(path)
    return Path(path).name if url is None else name_of(url)

"""Lucene indexes of collections, kept on disk; what is in them is what Anserini puts there."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, id_array, translate
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.cache import CACHE_VARIABLE, cache_home
from irtoolkit.retrievers.lucene.java import java_class, of_class, thrown_by_java
from irtoolkit.retrievers.task import Task

# Part of an index's name: goes up when what is written changes.
_FORMAT = 1
# What Java's trim takes off. Anserini does not index a document of which nothing is left.
BLANK = "".join(map(chr, range(33)))
_BUFFER_MB = 256.0


English = Literal["porter", "krovetz", "none"]


Language = Literal[
    "ar",
    "bn",
    "da",
    "de",
    "es",
    "fa",
    "fi",
    "fr",
    "hi",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "nl",
    "no",
    "pl",
    "pt",
    "ru",
    "sv",
    "te",
    "th",
    "tr",
    "uk",
    "zh",
]


@dataclass(frozen=True)
class LuceneIndex:
    """An index of every document of a collection that has text.

    Attributes:
        reader: Lucene's.
        doc_ids: id of each document by Lucene's number for it.
        blank: ids of the documents without text.
    """

    reader: Any
    doc_ids: Ids
    blank: frozenset[str]

    def numbers(self, task: Task) -> Ints:
        """(D,) Lucene's number of each document of a task, or -1 for one without text.

        Raises:
            InputError: a candidate is not in the collection.
        """
        numbers = translate(task.doc_ids, self.doc_ids)
        for doc_id in task.doc_ids[numbers < 0]:
            if doc_id not in self.blank:
                raise InputError(f"candidate {doc_id} has no text in {task.dataset_id}")
        return numbers


def pyserini_version() -> str | None:
    """Returns Pyserini's version, which decides an index's content beside the texts; None if not installed."""
    with suppress(metadata.PackageNotFoundError):
        return f"pyserini {metadata.version('pyserini')}"
    return None


def open_index(task: Task, name: str, analyzer: Any) -> LuceneIndex:
    """The index of a task's collection in its document view, built where there is none.

    It lies in a folder of irtoolkit's cache named by a hash of all that decides its content, which
    comes to be there only when it is complete.

    Args:
        task: whose collection.
        name: of the analyzer.
        analyzer: Lucene's object.

    Raises:
        InputError: the cache cannot be written, or the index in it is damaged.
    """
    digest = hashlib.sha256(f"{_FORMAT} {pyserini_version()} {name}".encode())
    doc_ids: list[str] = []
    blank: list[str] = []
    for doc_id, text in _texts(task):
        digest.update(f"\x1e{doc_id}\x1f{text}".encode())
        (doc_ids if text.strip(BLANK) else blank).append(doc_id)
    folder = cache_home() / "lucene" / digest.hexdigest()[:40]
    if not folder.is_dir():
        write_index(folder, _texts(task), len(doc_ids), analyzer)
    return LuceneIndex(_open(folder, len(doc_ids)), id_array(doc_ids), frozenset(blank))


def _texts(task: Task) -> Iterator[tuple[str, str]]:
    for doc_id, segments in task.collection():
        yield doc_id, " ".join(segments)


def write_index(
    folder: Path, texts: Iterable[tuple[str, str]], total: int | None, analyzer: Any
) -> int:
    """Writes a Lucene index, which comes to be there only when it is complete.

    Args:
        folder: a new folder.
        texts: id and text of each document; those without text are left out.
        total: how many there are, for the progress bar.
        analyzer: Lucene's object.

    Returns:
        The number of documents in the index.

    Raises:
        InputError: it cannot be written.
    """
    home = folder.parent
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".building-", dir=home, ignore_cleanup_errors=True
        ) as scratch:
            built = Path(scratch, "index")
            filled = ((doc_id, text) for doc_id, text in texts if text.strip(BLANK))
            with tqdm(filled, total=total, desc="indexing", unit="doc", disable=None) as bar:
                count = _write(built, bar, analyzer)
            try:
                built.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process has made the same meanwhile
                    raise
    except OSError as error:
        raise InputError(
            f"cannot write an index: {error}", remedy=f"{CACHE_VARIABLE} names another folder"
        ) from None
    except thrown_by_java() as error:
        reason = getattr(error, "innermessage", None) or error
        raise InputError(f"Lucene cannot write an index: {reason}", file=home) from None
    return count


def _write(folder: Path, texts: Iterable[tuple[str, str]], analyzer: Any) -> int:
    """Makes an index whose documents are numbered in the order given; returns their number."""
    settings = java_class("io.anserini.index.IndexCollection$Args")()
    settings.storeDocvectors = True  # RM3 reads them
    make = java_class("io.anserini.index.generator.DefaultLuceneDocumentGenerator")(settings)
    document = java_class("io.anserini.collection.JsonCollection$Document")
    config = java_class("org.apache.lucene.index.IndexWriterConfig")(analyzer)
    config.setRAMBufferSizeMB(_BUFFER_MB)
    # Merges neighbours only, so that numbers stay in order; Lucene's default does not.
    config.setMergePolicy(java_class("org.apache.lucene.index.LogByteSizeMergePolicy")())
    writer = java_class("org.apache.lucene.index.IndexWriter")(lucene_directory(folder), config)
    count = 0
    try:
        for doc_id, text in texts:
            writer.addDocument(make.createDocument(document.fromFields(doc_id, text)))
            count += 1
        writer.close()
    except BaseException:
        writer.rollback()
        raise
    return count


def lucene_directory(folder: Path) -> Any:
    """A folder as Lucene's object."""
    path = java_class("java.nio.file.Paths").get(str(folder))
    return java_class("org.apache.lucene.store.FSDirectory").open(path)


@cache
def _open(folder: Path, count: int) -> Any:
    """A reader of the index in a folder; it stays open."""
    try:
        reader = java_class("org.apache.lucene.index.DirectoryReader").open(
            lucene_directory(folder)
        )
    except thrown_by_java():
        reader = None
    if reader is None or reader.maxDoc() != count:
        raise InputError(
            "the index is damaged", file=folder, remedy="delete the folder, and it is made anew"
        )
    # IndexSearcher has constructors for several kinds of reader, and pyjnius would take a wrong one.
    return of_class("org.apache.lucene.index.IndexReader", reader)


def lucene_analyzer(name: str) -> Any:
    """Returns Lucene's analyzer of a name; see `Lucene`."""
    if name == "whitespace":
        return java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
    if name not in get_args(English):
        analyzers = java_class("io.anserini.analysis.AnalyzerMap")
        return analyzers.getLanguageSpecificAnalyzer(name)
    english = java_class("io.anserini.analysis.DefaultEnglishAnalyzer")
    return english.newNonStemmingInstance() if name == "none" else english.newStemmingInstance(name)

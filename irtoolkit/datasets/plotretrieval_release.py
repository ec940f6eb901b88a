"""The files of a PlotRetrieval split: queries, books and their chunks.

The authors have not published their files, so this layout is irtoolkit's own: `books/<book>.json`
with {"book", "sentences"}, and `queries-<split>.jsonl` with {"query_id", "book", "query", "spans":
[[first sentence, one past the last], ...]}.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Tuple  # noqa: UP035 ir_datasets compares these

import numpy as np
import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, is_word
from irtoolkit.base.paths import NAME_BYTES
from irtoolkit.base.plurals import number_of
from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import (
    BOOK_COLUMNS,
    SENTENCE_COLUMNS,
    Book,
    Passages,
    sentences_of,
)
from irtoolkit.datasets.cache import CacheWriter, Tables, parsed
from irtoolkit.datasets.columns import TableRows
from irtoolkit.datasets.strictjson import TRUNCATED, read_json_file, read_jsonl

# Sentences in a chunk (§3.2).
CHUNK = 3
# The name of a book's file in the folder, which no other folder is part of.
_BOOK = re.compile(r"[^\s:/\\\x00-\x1f\x7f]+")


class PlotQuery(NamedTuple):
    """A reader's description of a plot passage, and the book that the passage is in."""

    query_id: str
    text: str
    book: str
    spans: Tuple[str, ...]  # noqa: UP006

    def default_text(self) -> str:
        """Returns the description."""
        return self.text

    def hides(self, name: str) -> bool:
        """Returns whether a field names the relevant passages, which no retriever may see."""
        return name == "spans"


_SCHEMAS = {
    "books": BOOK_COLUMNS,
    "sentences": SENTENCE_COLUMNS,
    "queries": {
        "query_id": pa.string(),
        "text": pa.string(),
        "book": pa.int32(),
        "spans": pa.list_(pa.list_(pa.int32(), 2)),
    },
}


class PlotRelease:
    """A split: its queries with their plot passages, and their books in chunks.

    Attributes:
        key: changes with the documents.
    """

    def __init__(self, tables: Tables, size: int) -> None:
        # The books in chunks of another size are other documents.
        self.key = f"{tables.key}-{size}"
        sentences = sentences_of(tables)
        self._queries, self._names, self.size = tables["queries"], list(sentences), size
        golds = _golds(self._queries)
        self.books = {
            name: chunked(name, sentences[name], golds[golds[:, 0] == number, 1:].tolist(), size)
            for number, name in enumerate(self._names)
        }
        self.docs = Passages(self.books)

    def queries(self) -> TableRows[PlotQuery]:
        """Returns the descriptions."""

        def make(_: int, query_id: str, text: str, book: int, spans: list[list[int]]) -> PlotQuery:
            name = self._names[book]
            return PlotQuery(query_id, text, name, tuple(map(str, _spans(name, spans))))

        return TableRows(self._queries, make)

    def golds(self) -> Iterator[tuple[str, str, tuple[Span, ...]]]:
        """Yields (query id, book, plot passages) of each query."""

        def make(
            _: int, query_id: str, book: int, spans: list[list[int]]
        ) -> tuple[str, str, tuple[Span, ...]]:
            return query_id, self._names[book], _spans(self._names[book], spans)

        yield from TableRows(self._queries.select(["query_id", "book", "spans"]), make)

    def queries_by_book(self) -> dict[str, list[str]]:
        """Returns the ids of the queries about each book."""
        queries_of: dict[str, list[str]] = {name: [] for name in self._names}
        columns = (self._queries[name].to_pylist() for name in ("query_id", "book"))
        for query_id, book in zip(*columns, strict=True):
            queries_of[self._names[book]].append(query_id)
        return queries_of


def _spans(book: str, pairs: Sequence[Sequence[int]]) -> tuple[Span, ...]:
    return tuple(Span(book, start, stop - start) for start, stop in pairs)


def _golds(queries: pa.Table) -> Ints:
    """Returns the plot passages of all queries as an (n, 3) array: book, first sentence, length."""
    golds = [np.empty((0, 3), np.int64)]
    for batch in queries.to_batches():
        # Array.to_numpy would import pandas wherever it is installed.
        pairs = np.from_dlpack(batch["spans"].flatten().flatten())
        spans = pairs.astype(np.int64).reshape(-1, 2)
        counts = np.diff(np.from_dlpack(batch["spans"].offsets))
        books = np.repeat(np.from_dlpack(batch["book"]), counts)
        golds.append(np.column_stack((books, spans[:, 0], spans[:, 1] - spans[:, 0])))
    return np.concatenate(golds)


def read_plotretrieval(folder: Path, split: str, size: int) -> PlotRelease:
    """Parses and checks one split, or maps its columns from the cache, and chunks its books.

    Args:
        folder: the folder with books/ and the files of queries.
        split: train, val or test.
        size: the number of sentences in a chunk.

    Raises:
        InputError: a file is truncated, mis-encoded or contradicts another; with file and line.
    """
    path = folder / f"queries-{split}.jsonl"
    # The books of the queries are not known before parsing.
    files = [path, *sorted((folder / "books").glob("*.json"))]
    return PlotRelease(
        parsed("plotretrieval", files, _SCHEMAS, partial(_parse, folder, path)), size
    )


def _parse(folder: Path, path: Path, out: CacheWriter) -> None:
    numbers: dict[str, int] = {}
    lengths: dict[str, int] = {}
    ids: set[str] = set()
    for number, record in read_jsonl(path):
        problem = _problem(record)
        if problem is None and record["query_id"] in ids:
            problem = f"query {record['query_id']} appears twice"
        new = problem is None and record["book"] not in numbers
        if new and not (folder / "books" / f"{record['book']}.json").is_file():
            problem = f"book {record['book']!r} is not in the folder books/"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=TRUNCATED)
        book = record["book"]
        if book not in numbers:
            sentences = _sentences(folder / "books" / f"{book}.json", book)
            numbers[book], lengths[book] = len(numbers), len(sentences)
            out.add("books", book, len(sentences))
            for sentence in sentences:
                out.add("sentences", sentence)
        ids.add(record["query_id"])
        last = max(stop for _, stop in record["spans"])
        if last > lengths[book]:
            raise InputError(
                f"query {record['query_id']} has a span that ends at {last}, past the"
                f" {number_of(lengths[book], 'sentences')} of {book}",
                file=path,
                line=number,
                remedy=TRUNCATED,
            )
        out.add("queries", record["query_id"], record["query"], numbers[book], record["spans"])
    if not ids:
        raise InputError("no queries", file=path, remedy=TRUNCATED)


def chunked(
    name: str, sentences: Sequence[str], golds: Iterable[Sequence[int]], size: int = CHUNK
) -> Book:
    """Returns a book whose passages are its chunks and the queries' plot passages (§4.2, step 4).

    Args:
        name: the name of the book.
        sentences: all sentences of the book.
        golds: first sentence and length of each plot passage.
        size: the number of sentences in a chunk; the last chunk has the rest.
    """
    whole, rest = divmod(len(sentences), size)
    starts: dict[int, set[int]] = {size: set(range(0, whole * size, size))}
    if rest:
        starts.setdefault(rest, set()).add(whole * size)
    for start, length in golds:
        starts.setdefault(length, set()).add(start)
    return Book(
        name,
        sentences,
        {
            length: np.array(sorted(offsets))
            for length, offsets in sorted(starts.items())
            if offsets
        },
    )


def _problem(record: Any) -> str | None:
    texts = ("query_id", "book", "query")
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in texts):
        return "not a query: it needs query_id, book and query, all text"
    if not is_word(record["query_id"]):
        return f"query id {record['query_id']!r} is not one word"
    if not _BOOK.fullmatch(record["book"]):
        return f"book name {record['book']!r} has white space or a colon, or a slash"
    if len(f"{record['book']}.json".encode(errors="surrogatepass")) > NAME_BYTES:
        return f"book name {record['book']!r} is too long for the name of a file"
    if not record["query"].strip():
        return f"query {record['query_id']} has no text"
    spans = record.get("spans")
    if not isinstance(spans, list) or not spans:
        return f"query {record['query_id']} has no spans"
    for span in spans:
        whole = isinstance(span, list) and len(span) == 2 and all(type(x) is int for x in span)
        if not whole or not 0 <= span[0] < span[1]:
            return f"query {record['query_id']} has the span {span!r}, not [first, one past last]"
    return None


def _sentences(path: Path, book: str) -> list[str]:
    data = read_json_file(path)
    listed = data.get("sentences") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not all(isinstance(s, str) for s in listed) or not listed:
        raise InputError("no list of sentences", file=path, line=1, remedy=TRUNCATED)
    if data.get("book") != book:
        raise InputError(
            f"the book calls itself {data.get('book')!r}", file=path, line=1, remedy=TRUNCATED
        )
    return listed

"""The files of a RELiC release: windows of literary criticism, and the books they quote."""

import re
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Tuple  # noqa: UP035 ir_datasets compares these

import numpy as np
import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, is_word, named
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
from irtoolkit.datasets.strictjson import TRUNCATED, line_of_key, read_members

# The most sentences of context on each side of a quotation.
MAX_CONTEXT = 4
# A test split with the answers, which its authors have.
_REVEALED = "shows the index of its quotation, which this split hides"
_GOLD = (
    "to score with the answers, put the files into a folder with a benchmark.json of"
    ' {"benchmark": "relic", "format": 1, "splits": ["test"], "hidden": []}, and name FOLDER/test'
)
_CANDIDATES = re.compile(r"([1-9][0-9]{0,3})_sentences?")


class RelicQuery(NamedTuple):
    """A window of literary criticism around a masked quotation.

    `left` and `right` are the sentences before and after the quotation. The candidates are all
    passages of `length` sentences in `book`.
    """

    query_id: str
    book: str
    length: int
    left: Tuple[str, ...]  # noqa: UP006
    right: Tuple[str, ...]  # noqa: UP006

    @property
    def context(self) -> str:
        """The sentences on both sides, joined by spaces; the query of lexical systems (§3.2)."""
        return " ".join((*self.left, *self.right))

    def with_mask(self, token: str) -> str:
        """Returns the context with a token, for example a mask, in place of the quotation."""
        return " ".join((*self.left, token, *self.right))

    def default_text(self) -> str:
        """Returns the context without a mask."""
        return self.context

    def clipped(self, left: int, right: int) -> "RelicQuery":
        """Returns the same query with at most this many sentences on each side of the quotation."""
        return self._replace(
            left=self.left[len(self.left) - left :] if left < len(self.left) else self.left,
            right=self.right[:right],
        )


SCHEMAS = {
    "books": BOOK_COLUMNS,
    "sentences": SENTENCE_COLUMNS,
    "candidates": {"book": pa.int32(), "length": pa.int32(), "starts": pa.list_(pa.int32())},
    "windows": {
        "query_id": pa.string(),
        "book": pa.int32(),
        "length": pa.int32(),
        "gold": pa.int32(),
        "left": pa.list_(pa.string()),
        "right": pa.list_(pa.string()),
    },
}


class RelicRelease:
    """A split: its books, all their passages, and the windows that quote them.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
    """

    def __init__(self, tables: Tables) -> None:
        self.key = tables.key
        sentences = sentences_of(tables)
        starts: dict[str, dict[int, Ints]] = {name: {} for name in sentences}
        self._names = list(sentences)
        for batch in tables["candidates"].to_batches():
            # Array.to_numpy would import pandas wherever it is installed.
            offsets = np.from_dlpack(batch["starts"].offsets)
            values = np.from_dlpack(batch["starts"].values).astype(np.int64)
            pairs = zip(batch["book"].to_pylist(), batch["length"].to_pylist(), strict=True)
            for i, (book, length) in enumerate(pairs):
                starts[self._names[book]][length] = values[offsets[i] : offsets[i + 1]]
        self.books = {name: Book(name, sentences[name], starts[name]) for name in sentences}
        self.docs = Passages(self.books)
        self._windows = tables["windows"]

    def queries(self, left: int, right: int) -> TableRows[RelicQuery]:
        """Returns the queries with at most this many sentences on each side."""

        def make(
            _: int, query_id: str, book: int, length: int, before: list[str], after: list[str]
        ) -> RelicQuery:
            whole = RelicQuery(query_id, self._names[book], length, tuple(before), tuple(after))
            return whole.clipped(left, right)

        columns = ["query_id", "book", "length", "left", "right"]
        return TableRows(self._windows.select(columns), make)

    def candidates(
        self, ids: Collection[str] | None = None
    ) -> Iterator[tuple[list[str], list[str]]]:
        """Yields the queries of each length and book with the passages that they rank; see `query_groups`."""
        queries_of = self.query_groups(ids)
        for book, length, starts in self.docs.groups:
            if members := queries_of.get((book.name, length)):
                yield members, book.ids(starts, length)

    def by_book(self, ids: Collection[str] | None = None) -> dict[str, list[str]]:
        """Returns the ids of the queries about each book; see `query_groups`."""
        parts: dict[str, list[str]] = {}
        for (book, _), members in self.query_groups(ids).items():
            parts.setdefault(book, []).extend(members)
        return parts

    def by_length(self, ids: Collection[str] | None = None) -> dict[str, list[str]]:
        """Returns the ids of the queries for quotations of each length; see `query_groups`."""
        parts: dict[str, list[str]] = {}
        groups = sorted(self.query_groups(ids).items(), key=lambda item: item[0][1])
        for (_, length), members in groups:
            parts.setdefault(number_of(length, "sentences"), []).extend(members)
        return parts

    def query_groups(self, ids: Collection[str] | None = None) -> dict[tuple[str, int], list[str]]:
        """Returns the ids of the queries that rank the passages of each length in each book.

        Args:
            ids: the queries that count; all by default.
        """
        queries_of: dict[tuple[str, int], list[str]] = {}
        columns = (self._windows[name].to_pylist() for name in ("query_id", "book", "length"))
        for query_id, book, length in zip(*columns, strict=True):
            if ids is None or query_id in ids:
                queries_of.setdefault((self._names[book], length), []).append(query_id)
        return queries_of

    def golds(self) -> Iterator[tuple[str, Span]]:
        """Yields (query id, quotation) of the queries whose quotation the release contains."""
        columns = (self._windows[n].to_pylist() for n in ("query_id", "book", "gold", "length"))
        for query_id, book, gold, length in zip(*columns, strict=True):
            if gold is not None:
                yield query_id, Span(self._names[book], gold, length)


def read_relic(path: Path, hidden: bool) -> RelicRelease:
    """Parses and checks the file of one split, or maps its columns from the cache.

    Args:
        path: train.json, val.json or test.json.
        hidden: whether the indices of the quotations must be null, as in the released test split,
            or must not be.

    Raises:
        InputError: the file is truncated, mis-encoded or contradicts itself; with file and line.
    """
    kind = "relic-hidden" if hidden else "relic"
    return RelicRelease(parsed(kind, [path], SCHEMAS, partial(_parse, path, hidden)))


def _parse(path: Path, hidden: bool, out: CacheWriter) -> None:
    ids: set[str] = set()
    number = -1
    for number, (line, name, record) in enumerate(read_members(path, "an object of books")):
        book = _book(path, name, record, line)
        out.add("books", name, len(book.sentences))
        for sentence in book.sentences:
            out.add("sentences", sentence)
        for length, starts in book.starts.items():
            out.add("candidates", number, length, starts)
        for query_id, quote in record["quotes"].items():
            problem = _problem(quote, book, hidden)
            if problem is None and query_id in ids:
                problem = "appears in two books"
            if problem is None and not is_word(query_id):
                problem = "is not one word"
            if problem is not None:
                raise InputError(
                    f"quote {named(query_id)} of {name} {problem}",
                    file=path,
                    line=line_of_key(path, query_id, last=query_id in ids),
                    remedy=_GOLD if problem is _REVEALED else TRUNCATED,
                )
            ids.add(query_id)
            left, start, length, right = quote
            out.add("windows", query_id, number, length, start, left, right)
    if number < 0:
        raise InputError("not an object of books", file=path, line=1, remedy=TRUNCATED)
    if not ids:
        raise InputError("no windows", file=path, remedy=TRUNCATED)


def _book(path: Path, name: str, record: Any, line: int) -> Book:
    def invalid(problem: str) -> InputError:
        return InputError(f"book {named(name)} {problem}", file=path, line=line, remedy=TRUNCATED)

    if not is_word(name) or ":" in name:
        raise invalid("has a name with white space or a colon")
    keys = {"quotes": dict, "sentences": list, "candidates": dict}
    if not isinstance(record, dict) or any(
        not isinstance(record.get(k), t) for k, t in keys.items()
    ):
        raise invalid("needs quotes, sentences and candidates")
    sentences = record["sentences"]
    if not all(isinstance(sentence, str) for sentence in sentences):
        raise invalid("has a sentence that is not text")
    starts: dict[int, Ints] = {}
    for key, listed in record["candidates"].items():
        match = _CANDIDATES.fullmatch(key)
        if match is None or not isinstance(listed, list):
            raise invalid(f"has candidates {key!r}, not lists named 1_sentence and so on")
        length = int(match[1])
        if length in starts:
            raise invalid(f"has candidates of {number_of(length, 'sentences')} twice")
        if not all(type(start) is int for start in listed):
            raise invalid(f"has candidates {key} that are not whole numbers")
        if listed and (min(listed) < 0 or max(listed) + length > len(sentences)):
            raise invalid(
                f"has a candidate in {key} that ends past its {number_of(len(sentences), 'sentences')}"
            )
        positions = np.unique(np.array(listed, dtype=np.int64))
        if len(positions) != len(listed):
            raise invalid(f"has a candidate twice in {key}")
        starts[length] = positions
    return Book(name, tuple(sentences), starts)


def _problem(quote: Any, book: Book, hidden: bool) -> str | None:
    if not isinstance(quote, list) or len(quote) != 4:
        return "is not [left sentences, index, length, right sentences]"
    left, start, length, right = quote
    if left == [] and right == []:
        return "has no context"
    for side in (left, right):
        if not isinstance(side, list) or not all(isinstance(s, str) for s in side):
            return "has a context that is not a list of sentences"
        if len(side) > MAX_CONTEXT:
            return f"has {len(side)} sentences on one side, more than {MAX_CONTEXT}"
    if type(length) is not int or length not in book.starts:
        return f"has the length {length!r}, for which the book has no candidates"
    if hidden:
        return None if start is None else _REVEALED
    if type(start) is not int:
        return f"has the index {start!r}, and this split needs a number"
    if not book.has(start, length):
        return f"has the index {start}, which is not one of the book's candidates"
    return None

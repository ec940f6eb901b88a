"""Books and their passages as ir_datasets documents, which are made when they are read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Tuple  # noqa: UP035 ir_datasets compares these

import numpy as np
import pyarrow as pa

from irtoolkit.base.ids import Ints
from irtoolkit.base.spans import Span
from irtoolkit.datasets.cache import Tables
from irtoolkit.datasets.columns import ColumnTexts, Rows


class Passage(NamedTuple):
    """Consecutive sentences of a book; the id is `book:start+length`."""

    doc_id: str
    text: str
    book: str
    start: int
    length: int
    sentences: Tuple[str, ...]  # noqa: UP006

    def default_text(self) -> str:
        """Returns the sentences, joined by a space."""
        return self.text


@dataclass(frozen=True)
class Book:
    """A book in sentences, and which of its passages are documents.

    Attributes:
        name: the book's name, without white space, so that ids fit into TREC files.
        sentences: all sentences in order.
        starts: for each length of a passage, the first sentences of these passages, ascending.
    """

    name: str
    sentences: Sequence[str]
    starts: Mapping[int, Ints]

    @cached_property
    def stripped(self) -> list[str]:
        """The sentences without white space around them, as passages have them."""
        return [sentence.strip() for sentence in self.sentences]

    @cached_property
    def _marks(self) -> dict[int, bytes]:
        """For each length of a passage, one byte per sentence: whether such a passage starts there."""
        marks = {}
        for length, starts in self.starts.items():
            row = np.zeros(len(self.sentences), dtype=np.uint8)
            row[starts] = 1
            marks[length] = row.tobytes()
        return marks

    def text(self, start: int, length: int) -> str:
        """Returns the text of a passage."""
        return " ".join(self.stripped[start : start + length])

    def passage(self, start: int, length: int) -> Passage:
        """Returns the document of a passage."""
        sentences = tuple(self.stripped[start : start + length])
        return Passage(
            f"{self.name}:{start}+{length}",
            " ".join(sentences),
            self.name,
            start,
            length,
            sentences,
        )

    def ids(self, starts: Ints, length: int) -> list[str]:
        """Returns the document ids of some passages of one length."""
        return [f"{self.name}:{start}+{length}" for start in starts.tolist()]

    def windows(self, starts: Ints, length: int, view: str) -> list[tuple[str, ...]]:
        """Returns the texts of some passages of one length under a view of `BLOCK_VIEWS`."""
        stripped = self.stripped
        if view == "sentences":
            return [tuple(stripped[start : start + length]) for start in starts.tolist()]
        return [(" ".join(stripped[start : start + length]),) for start in starts.tolist()]

    def has(self, start: int, length: int) -> bool:
        """Returns whether this is one of the book's passages."""
        row = self._marks.get(length)
        return row is not None and 0 <= start < len(row) and row[start] == 1

    def near(self, gold: Span, window: int, lengths: Iterable[int] | None = None) -> list[Span]:
        """Returns the passages whose middle is less than `window` sentences from a relevant one's.

        Args:
            gold: the relevant passage.
            window: the distance in sentences.
            lengths: the lengths of passages to consider; all lengths by default.
        """
        middle, passages = 2 * gold.start + gold.length - 1, []
        for length in self.starts if lengths is None else lengths:
            # |2 start + length - 1 - middle| < 2 window, in halves of a sentence
            low = (middle - length + 1 - 2 * window) // 2 + 1
            high = -((length - 1 - middle - 2 * window) // 2) - 1
            passages += self._between(length, low, high)
        return passages

    def overlapping(self, span: Span) -> list[Span]:
        """Returns the passages that share a sentence with `span`."""
        passages = []
        for length in self.starts:
            passages += self._between(length, span.start - length + 1, span.stop - 1)
        return passages

    def _between(self, length: int, low: int, high: int) -> list[Span]:
        """Returns the passages of a length that start from `low` to `high`, inclusive."""
        starts = self.starts[length]
        first, last = np.searchsorted(starts, (low, high + 1))
        return [Span(self.name, start, length) for start in starts[first:last].tolist()]


# Views of passages that need no records; see `irtoolkit.retrievers.texts.view`.
BLOCK_VIEWS = ("default", "text", "sentences")
# The longest `start+length` that can be a passage; it bounds the cost of parsing an id.
_PLACE = 19
# The columns of books in the cache: the sentences of all books, and each book's number of them.
BOOK_COLUMNS = {"name": pa.string(), "sentences": pa.int64()}
SENTENCE_COLUMNS = {"text": pa.string()}


def sentences_of(tables: Tables) -> dict[str, ColumnTexts]:
    """Returns the sentences of each book in the cache, read at their first use."""
    column, start, by_book = tables["sentences"]["text"], 0, {}
    for name, count in zip(*tables["books"].to_pydict().values(), strict=True):
        by_book[name] = ColumnTexts(column, start, count)
        start += count
    return by_book


class Passages(Mapping[str, Passage]):
    """All passages of some books by id, each made when it is read."""

    def __init__(self, books: Mapping[str, Book]) -> None:
        self._books = books
        self.groups = [
            (book, length, starts)
            for book in books.values()
            for length, starts in book.starts.items()
        ]
        self._ends = np.cumsum([len(starts) for _, _, starts in self.groups])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __iter__(self) -> Iterator[str]:
        return (passage.doc_id for passage in self.at(range(len(self))))

    def __getitem__(self, doc_id: str) -> Passage:
        passage = self._find(doc_id)
        if passage is None:
            raise KeyError(doc_id)
        return passage

    def many(self, doc_ids: Iterable[str]) -> Iterator[Passage]:
        """Yields the passages of those ids that exist, in the given order."""
        return (passage for passage in map(self._find, doc_ids) if passage is not None)

    def _find(self, doc_id: str) -> Passage | None:
        span = self._parse(doc_id)
        return None if span is None else span[0].passage(*span[1:])

    def _parse(self, doc_id: str) -> tuple[Book, int, int] | None:
        """Returns the book, first sentence and length of a passage.

        None if no passage has the id.
        """
        # Not with Span.parse: millions of ids are looked up, and a text that is no span is just missing.
        name, _, position = doc_id.rpartition(":")
        start, _, length = position.partition("+")
        book = self._books.get(name)
        whole = start.isdecimal() and length.isdecimal() and len(position) <= _PLACE
        if book is None or not whole:
            return None
        # 007 is not an id for 7.
        exists = book.has(int(start), int(length)) and str(int(start)) == start
        return (book, int(start), int(length)) if exists and str(int(length)) == length else None

    def at(self, places: Sequence[int]) -> Iterator[Passage]:
        """Yields the passages at some places of the order of all passages."""
        for location in places:
            group = int(np.searchsorted(self._ends, location, side="right"))
            book, length, starts = self.groups[group]
            first = int(self._ends[group]) - len(starts)
            yield book.passage(int(starts[location - first]), length)

    def values(self) -> Rows[Passage]:  # type: ignore[override]
        """Returns the passages in order, as a sequence that can be sliced."""
        return Rows(self.at, range(len(self)))

    def block(self, start: int, stop: int, view: str) -> tuple[list[str], list[tuple[str, ...]]]:
        """Returns ids and texts of the passages from `start` to before `stop`, without records.

        Args:
            start, stop: positions in the order of all passages.
            view: one of `BLOCK_VIEWS`.
        """
        ids: list[str] = []
        texts: list[tuple[str, ...]] = []
        first = int(np.searchsorted(self._ends, start, side="right"))
        for (book, length, starts), end in zip(
            self.groups[first:], self._ends[first:].tolist(), strict=True
        ):
            begin = end - len(starts)
            if begin >= stop:
                break
            chosen = starts[max(0, start - begin) : stop - begin]
            ids += book.ids(chosen, length)
            texts += book.windows(chosen, length, view)
        return ids, texts

    def texts(self, places: Ints, view: str) -> Iterator[tuple[str, ...]]:
        """Yields the texts of the passages at some places under a view of `BLOCK_VIEWS`."""
        groups = np.searchsorted(self._ends, places, side="right")
        # Neighbours are mostly passages of one length in one book.
        cuts = np.flatnonzero(np.diff(groups)) + 1
        for part in np.split(np.arange(len(places)), cuts):
            if len(part):
                book, length, starts = self.groups[groups[part[0]]]
                begin = self._ends[groups[part[0]]] - len(starts)
                yield from book.windows(starts[places[part] - begin], length, view)

    def places(self, doc_ids: Iterable[str]) -> Ints:
        """Returns the position of each passage in the order of all; -1 for an unknown id."""
        number = {(book.name, length): i for i, (book, length, _) in enumerate(self.groups)}
        positions: list[tuple[int, int]] = []
        for doc_id in doc_ids:
            span = self._parse(doc_id)
            positions.append((-1, 0) if span is None else (number[span[0].name, span[2]], span[1]))
        groups, firsts = np.array(positions, dtype=np.int64).reshape(-1, 2).T
        places = np.full(len(groups), -1)
        for group in np.unique(groups[groups >= 0]).tolist():
            in_group, starts = groups == group, self.groups[group][2]
            begin = self._ends[group] - len(starts)
            places[in_group] = begin + np.searchsorted(starts, firsts[in_group])
        return places

    def sentence_ranges(self, places: Ints) -> tuple[Ints, Ints]:
        """Returns the first sentence of passages and the one after the last, among all books'."""
        groups = np.searchsorted(self._ends, places, side="right")
        lengths = np.array([length for _, length, _ in self.groups], np.int64)
        before = np.cumsum([0, *(len(book.sentences) for book in self._books.values())])
        first_of = dict(zip(self._books, before.tolist(), strict=False))
        firsts = np.array([first_of[book.name] for book, _, _ in self.groups], np.int64)
        starts = np.concatenate(
            [np.empty(0, np.int64), *(group_starts for _, _, group_starts in self.groups)]
        )
        begins = firsts[groups] + starts[places]
        return begins, begins + lengths[groups]

    def sentences(self) -> Iterator[list[str]]:
        """Yields the sentences of each book, without white space around them."""
        return (book.stripped for book in self._books.values())

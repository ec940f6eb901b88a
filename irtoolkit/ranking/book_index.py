"""Books searched for passages that do not overlap, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.book_files import novel_dataset
from irtoolkit.datasets.novels import LENGTH, Novel, Place
from irtoolkit.ranking.build_index import prepare
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.hits import MatchedPlaces, SearchResult
from irtoolkit.retrievers.index import Index
from irtoolkit.runs import Run


class PlacedIndex(Index):
    """Passages of books, each with its place.

    Attributes:
        books: name to book.
        sentences: of a passage.
    """

    books: Mapping[str, Novel]
    sentences: int

    def place(self, doc_id: str) -> Place:
        """Where a passage is in its book.

        Raises:
            InputError: it is none of the books'.
        """
        return self.novel(doc_id).place(Span.parse(doc_id).start)

    def novel(self, doc_id: str) -> Novel:
        """The book of a passage; errors as for `place`."""
        book = self.books.get(doc_id.rpartition(":")[0])
        if book is None:
            raise InputError(f"passage {doc_id!r} is of none of the books {', '.join(self.books)}")
        return book


class BookIndex(PlacedIndex):
    """All passages of some books, prepared once.

    The index is in irtoolkit's cache, where the same texts find it again, whatever the names of the
    files; that of a system that keeps none, such as best, is in memory.

    Args:
        novels: with distinct names.
        system: what searches.
        sentences: of a passage, from 1 to 20.
        progress: whether to show a bar on a terminal while they are prepared.

    Attributes:
        books: name to book.
        sentences: see above.

    Raises:
        InputError: a system that cannot run here, or another length.
    """

    def __init__(
        self,
        novels: Sequence[Novel],
        system: System,
        sentences: int = LENGTH,
        *,
        progress: bool = True,
    ) -> None:
        data = novel_dataset(list(novels), sentences)
        self._open(prepare(data, system, progress=progress), {n.name: n for n in novels}, sentences)
        self.name = data.id

    def _open(self, index: Index, books: Mapping[str, Novel], sentences: int) -> None:
        self.kept, self.books, self.sentences = index, books, sentences
        self.searched_by = index.searched_by

    def __len__(self) -> int:
        return len(self.kept)

    def search(self, query: str, k: int = 10) -> SearchResult:
        """The best passages for a query, without those that share a sentence with a better one.

        Args:
            query: what is searched for.
            k: how many passages are returned, at most.

        Raises:
            InputError: a query without text, or `k` below 1.
        """
        # A passage shares a sentence with 2 (n - 1) others of its length.
        most = k * (2 * self.sentences - 1) if isinstance(k, int) and k > 0 else k
        result = super().search(query, most)
        return result.chosen(list(islice(_apart(result.doc_ids), k)))

    def settings(self) -> Mapping[str, Any]:
        return self.kept.settings()

    def with_settings(self, **settings: Any) -> BookIndex:
        index = object.__new__(BookIndex)
        index._open(self.kept.with_settings(**settings), self.books, self.sentences)
        index.name = self.name
        return index

    def _rank(self, queries: Mapping[str, str], depth: int) -> Run:
        return self.kept._rank(queries, depth)

    def _best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        return self.kept._best(query, depth)

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        return self.kept._texts(doc_ids)

    def _texts_of_hits(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        return self.kept._texts_of_hits(doc_ids)

    def _matches(self, query: str, text: str) -> MatchedPlaces:
        return self.kept._matches(query, text)


def _apart(doc_ids: Sequence[str]) -> Iterator[int]:
    """Yields the places of the passages that share no sentence with a better one."""
    covered: set[tuple[str, int]] = set()
    for position, doc_id in enumerate(doc_ids):
        span = Span.parse(doc_id)
        sentences = {(span.book, number) for number in range(span.start, span.stop)}
        if not sentences & covered:
            covered |= sentences
            yield position

"""Books that are searched together: passages by words, by meaning, and by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from irtoolkit.apps.serve.indexes import Indexes
from irtoolkit.apps.serve.marks import Marks
from irtoolkit.apps.serve.meaning import Meaning
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.novels import Novel, novel_of
from irtoolkit.ranking.book_ranking import RankedPassage, best_passages, score_passages
from irtoolkit.ranking.book_system import BOOK_SYSTEMS, BOOKS, BookSystemName, best_system
from irtoolkit.ranking.book_words import BookWords
from irtoolkit.reports.overlap import Overlap

SystemName = BookSystemName
SYSTEMS = BOOK_SYSTEMS
# Parts of a book in the curve of similarities.
_PARTS = 160


@dataclass(frozen=True)
class Answer:
    """The passages that one system finds for a query.

    Attributes:
        found: the best passages, no two of which share a sentence.
        curve: for each book, the greatest similarity in each of equal parts; empty by words.
    """

    found: tuple[RankedPassage, ...]
    curve: tuple[tuple[float, ...], ...] = ()


class Collection:
    """One or more books that are searched together.

    Args:
        name: its id.
        title: what it is called.
        novels: its books, of distinct names.
        meaning: what compares meaning; None where no model is to be used.
        indexes: where its indexes are held; by default with no others.
    """

    def __init__(
        self,
        name: str,
        title: str,
        novels: Sequence[Novel],
        meaning: Meaning | None,
        indexes: Indexes | None = None,
    ) -> None:
        self.name, self.title, self.novels = name, title, tuple(novels)
        self.meaning = meaning
        # Whether sentences have vectors: all of them, or so far some.
        self.has_vectors = self.has_some_vectors = False
        self._indexes = indexes or Indexes()

    @property
    def lang(self) -> str | None:
        """The language of its books, where they have one."""
        langs = {novel.lang for novel in self.novels}
        return langs.pop() if len(langs) == 1 else None

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of all books."""
        return [sentence for novel in self.novels for sentence in novel.sentences]

    @cached_property
    def key(self) -> str:
        """Tells its sentences from those of others."""
        return "-".join(novel.content for novel in self.novels)

    @cached_property
    def overlap(self) -> Overlap:
        """Finds words that a query and a passage share."""
        return Overlap(self.lang)

    @cached_property
    def marks(self) -> Marks:
        """The terms of its sentences, to be marked."""
        return Marks(self.sentences, self.overlap)

    @cached_property
    def firsts(self) -> list[int]:
        """The number of the first sentence of each book."""
        return [0, *accumulate(len(novel.sentences) for novel in self.novels)]

    @cached_property
    def paragraphs(self) -> list[frozenset[int]]:
        """The first sentences of the paragraphs of each book, counted in the book."""
        return [frozenset(novel.paragraphs) for novel in self.novels]

    def telling(self, query: str) -> frozenset[str]:
        """The terms of the content words of a query, to be marked."""
        words = self.words.content_words(query)
        return frozenset(self.overlap.terms(" ".join(words)))

    @property
    def has_words(self) -> bool:
        """Whether the books can be searched by words at once."""
        return self._indexes.has(self.name)

    @property
    def words(self) -> BookWords:
        """The books by their words, from irtoolkit's cache or indexed now."""
        return self._indexes.get(self.name, lambda: BookWords(self.novels, name=self.name))

    def systems(self) -> tuple[SystemName, ...]:
        """The systems that can answer now."""
        return SYSTEMS if self.has_vectors or self.has_some_vectors else SYSTEMS[:1]

    def best(self) -> SystemName:
        """The system that answers unless another is named."""
        return best_system(self.lang, has_model=self.has_vectors)

    def answer(
        self, system: SystemName, queries: Sequence[str], length: int, depth: int
    ) -> list[Answer]:
        """The best passages of each query.

        Args:
            system: see `irtoolkit.ranking.book_system`.
            queries: texts; a query that has no content word of the books finds nothing by words.
            length: sentences of a passage.
            depth: passages at most.

        Raises:
            InputError: meaning is asked for before the vectors are there.
        """
        if system not in self.systems():
            raise InputError("passages cannot be compared by meaning yet", remedy="ask by words")
        distinct = list(dict.fromkeys(queries))
        similar = [None] * len(distinct) if system == "words" else self._similarities(distinct)
        rankings = {}
        for query, query_similarities in zip(distinct, similar, strict=True):
            scores = score_passages(self.words, system, query, length, query_similarities)
            passages = best_passages(self.words, scores, length, depth, query_similarities)
            rankings[query] = Answer(
                passages, () if query_similarities is None else self._curve(query_similarities)
            )
        return [rankings[query] for query in queries]

    def warm_up(self, system: SystemName) -> None:
        """Answers one query, so that what the first one compiles and loads is there for the next."""
        self.answer(system, [self.sentences[0]], BOOKS.length, 1)

    def _similarities(self, queries: Sequence[str]) -> list[NDArray[np.float64]]:
        """For each query, the cosine of every sentence."""
        meaning = cast(Meaning, self.meaning)
        vectors = meaning.vectors(self.key, self.sentences)
        compared = (meaning.asked(queries) @ vectors.T).astype(np.float64)
        return list(compared)

    def _curve(self, similar: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
        curves = []
        for first, last in pairwise(self.firsts):
            segment = similar[first:last]
            parts = min(_PARTS, len(segment))
            starts = np.arange(parts) * len(segment) // parts
            # Where no vector is there yet, the curve is at its bottom; at 0 if there is none at all.
            finite = segment[~np.isnan(segment)]
            bottom = float(finite.min()) if len(finite) else 0.0
            greatest = np.nan_to_num(np.fmax.reduceat(segment, starts), nan=bottom)
            curves.append(tuple(np.round(greatest, 3).tolist()))
        return tuple(curves)


@cache
def load_search() -> None:
    """Loads what searches by words; none of it is compiled."""
    novel = novel_of(b"One lamp was lit.", "lamp")
    Collection("lamp", "lamp", [novel], None).warm_up("words")

"""Books that are searched together: passages by words, by meaning, and by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, id_array
from irtoolkit.base.languages import common_words
from irtoolkit.datasets.book_files import novel_dataset
from irtoolkit.datasets.novels import LENGTH, Novel, novel_of
from irtoolkit.runs.order import best_first, keys
from irtoolkit.serve.indexes import Indexes
from irtoolkit.serve.meaning import Meaning, window_means

if TYPE_CHECKING:
    from irtoolkit.reports.overlap import Overlap
    from irtoolkit.retrievers.kept_index import KeptIndex

SystemName = Literal["words", "meaning", "both"]
SYSTEMS: tuple[SystemName, ...] = ("words", "meaning", "both")
# Passages of each system that fusion sees, and the constant of reciprocal rank fusion.
FUSED, RRF_K = 1000, 60
# The share of sentences from which on a word tells nothing.
_EVERYWHERE = 0.2
# Parts of a book in the curve of similarities.
_PARTS = 160

Ranked = tuple[NDArray[np.int64], NDArray[np.float64]]


class Found(NamedTuple):
    """A passage in an answer.

    Attributes:
        book: the place of its book in the collection.
        start, length: its sentences.
        score: of the system that ranks.
        ranks: its rank by words and by meaning before both were fused, where they list it.
        similarities: of each of its sentences, where the system compares meaning.
    """

    book: int
    start: int
    length: int
    score: float
    ranks: Mapping[str, int]
    similarities: tuple[float, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What one system finds for a query.

    Attributes:
        found: the best passages, no two of which share a sentence.
        curve: for each book, the greatest similarity in each of equal parts; empty by words.
    """

    found: tuple[Found, ...]
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
        self, name: str, title: str, novels: Sequence[Novel], meaning: Meaning | None,
        indexes: Indexes | None = None,
    ) -> None:  # fmt: skip
        self.name, self.title, self.novels = name, title, tuple(novels)
        self.meaning = meaning
        self.has_vectors = False
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
        from irtoolkit.reports.overlap import Overlap

        return Overlap(self.lang)

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """In how many sentences each term is."""
        found: dict[str, int] = {}
        for sentence in self.sentences:
            for term in self.overlap.terms(sentence):
                found[term] = found.get(term, 0) + 1
        return found

    def telling(self, query: str) -> frozenset[str]:
        """The terms of a query without those that are everywhere in the books."""
        # Of a few sentences nothing can be told.
        everywhere = max(20.0, _EVERYWHERE * len(self.sentences))
        common = common_words(self.lang)
        return frozenset(
            term for term in self.overlap.terms(query)
            if term not in common
            # English has a list of its own, and names of heroes are not to be lost.
            and (self.lang in ("en", "zh", "ja") or self.frequencies.get(term, 0) <= everywhere)
        )  # fmt: skip

    def has_index(self, length: int) -> bool:
        """Whether passages of so many sentences can be searched by words at once."""
        return self._indexes.has(self.name, length)

    def index(self, length: int) -> KeptIndex:
        """The postings of passages of so many sentences, from irtoolkit's cache or built now."""
        from irtoolkit.ranking.build_index import build
        from irtoolkit.ranking.systems import find_system

        def made() -> KeptIndex:
            data = novel_dataset(self.novels, length, name=self.name)
            return build(data, find_system("bm25", {}), progress=False)

        return self._indexes.get(self.name, length, made)

    def systems(self) -> tuple[SystemName, ...]:
        """The systems that can answer now."""
        return SYSTEMS if self.has_vectors else SYSTEMS[:1]

    def answer(
        self, system: SystemName, queries: Sequence[str], length: int, depth: int
    ) -> list[Answer]:
        """The best passages of each query.

        Args:
            system: "words" (BM25), "meaning" (cosines) or "both" (reciprocal rank fusion).
            queries: texts; a query that has no word of the books finds nothing by words.
            length: sentences of a passage.
            depth: passages at most.

        Raises:
            InputError: meaning is asked for before the vectors are there.
        """
        if system not in self.systems():
            raise InputError("passages cannot be compared by meaning yet", remedy="ask by words")
        distinct = list(dict.fromkeys(queries))
        most = max(FUSED, depth * 2 * length)
        words: list[Ranked] = []
        meant: list[Ranked] = []
        similar: list[NDArray[np.float32]] = []
        if system != "meaning":
            words = self._by_words(distinct, length, most)
        if system != "words":
            similar = self._similarities(distinct)
            meant = [self._by_meaning(one, length, most) for one in similar]
        ranked = words or meant
        if system == "both":
            ranked = self._fused(words, meant, length)
        made = {}
        for place, query in enumerate(distinct):
            parts = {"words": words, "meaning": meant} if system == "both" else {}
            ranks = {
                name: {int(number): rank for rank, number in enumerate(listed[place][0], 1)}
                for name, listed in parts.items()
            }
            own = similar[place] if similar else None
            found = self._distinct(ranked[place], length, depth, ranks, own)
            made[query] = Answer(found, () if own is None else self._curve(own))
        return [made[query] for query in queries]

    def warm_up(self, system: SystemName) -> None:
        """Answers one query, so that what the first one compiles and loads is there for the next."""
        self.answer(system, [self.sentences[0]], LENGTH, 1)

    def _by_words(self, queries: Sequence[str], length: int, most: int) -> list[Ranked]:
        found = self.index(length).searcher.search([(query,) for query in queries], most)
        bounds = found.offsets.tolist()
        return [
            (found.documents[a:b], found.scores[a:b].astype(np.float64))
            for a, b in pairwise(bounds)
        ]

    def _similarities(self, queries: Sequence[str]) -> list[NDArray[np.float32]]:
        """For each query, the cosine of every sentence."""
        meaning = cast(Meaning, self.meaning)
        vectors = meaning.vectors(self.key, self.sentences)
        compared = vectors @ meaning.asked(queries).T
        return [compared[:, place] for place in range(len(queries))]

    def _by_meaning(self, similar: NDArray[np.float32], length: int, most: int) -> Ranked:
        parts, start = [], 0
        for novel in self.novels:
            own = similar[start : start + len(novel.sentences)]
            parts.append(window_means(own, min(length, len(own))))
            start += len(own)
        scores = np.concatenate(parts)
        best = best_first(scores, lambda numbers: keys(self._ids(numbers, length)), most)
        return best, scores[best].astype(np.float64)

    def _fused(self, words: Sequence[Ranked], meant: Sequence[Ranked], length: int) -> list[Ranked]:
        """Both rankings of each query, fused by their ranks."""
        from irtoolkit.ranking.fusion import fuse
        from irtoolkit.runs import Run

        known: dict[str, int] = {}

        def run(ranked: Sequence[Ranked], tag: str) -> Run:
            numbers = np.concatenate([one[0] for one in ranked])
            distinct, docs = np.unique(numbers, return_inverse=True)
            named = self._ids(distinct, length)
            known.update(zip(named, distinct.tolist(), strict=True))
            offsets = np.cumsum([0, *(len(one[0]) for one in ranked)])
            falling = np.concatenate([-np.arange(len(one[0]), dtype=np.float32) for one in ranked])
            asked = id_array([str(place) for place in range(len(ranked))])
            return Run.ordered(asked, offsets, named, docs.astype(np.int32), falling, tag)

        fused = fuse([run(words, "words"), run(meant, "meaning")], "rrf", k=RRF_K, progress=False)
        rows: list[Ranked] = [(np.empty(0, np.int64), np.empty(0))] * len(words)
        numbers = np.array([known[name] for name in fused.doc_ids], dtype=np.int64)
        bounds = fused.offsets.tolist()
        for name, a, b in zip(fused.query_ids, bounds, bounds[1:], strict=False):
            rows[int(name)] = (numbers[fused.docs[a:b]], fused.scores[a:b].astype(np.float64))
        return rows

    def _distinct(
        self, ranked: Ranked, length: int, depth: int,
        ranks: Mapping[str, Mapping[int, int]], similar: NDArray[np.float32] | None,
    ) -> tuple[Found, ...]:  # fmt: skip
        """The best passages, without such as share a sentence with a better one."""
        firsts = np.cumsum([0, *(len(novel.sentences) for novel in self.novels)])
        taken, chosen = np.zeros(firsts[-1], bool), []
        passages = self._passages(ranked[0], length)
        for number, (book, start, size), score in zip(
            ranked[0].tolist(), passages, ranked[1].tolist(), strict=True
        ):
            first = int(firsts[book]) + start
            if taken[first : first + size].any():
                continue
            taken[first : first + size] = True
            own = () if similar is None else tuple(similar[first : first + size].tolist())
            at = {name: places[number] for name, places in ranks.items() if number in places}
            chosen.append(Found(book, start, size, score, at, own))
            if len(chosen) == depth:
                break
        return tuple(chosen)

    def _passages(self, numbers: NDArray[np.int64], length: int) -> list[tuple[int, int, int]]:
        """Returns book, first sentence and number of sentences of the passages of some numbers."""
        lengths = np.array([len(novel.sentences) for novel in self.novels])
        sizes = np.minimum(length, lengths)
        ends = np.cumsum(lengths - sizes + 1)
        books = np.searchsorted(ends, numbers, side="right")
        starts = numbers - ends[books] + (lengths - sizes + 1)[books]
        return list(zip(books.tolist(), starts.tolist(), sizes[books].tolist(), strict=True))

    def _ids(self, numbers: NDArray[np.int64], length: int) -> Ids:
        """Returns the document ids of the passages of some numbers."""
        passages = self._passages(numbers, length)
        return id_array([f"{self.novels[b].name}:{start}+{size}" for b, start, size in passages])

    def _curve(self, similar: NDArray[np.float32]) -> tuple[tuple[float, ...], ...]:
        curves, start = [], 0
        for novel in self.novels:
            own = similar[start : start + len(novel.sentences)]
            start += len(own)
            parts = np.array_split(own, min(_PARTS, len(own)))
            curves.append(tuple(round(float(part.max()), 3) for part in parts))
        return tuple(curves)


@cache
def compile_search() -> None:
    """Compiles what searches by words, which takes some ten seconds once after an install."""
    novel = novel_of(b"One lamp was lit.", "lamp")
    Collection("lamp", "lamp", [novel], None).warm_up("words")

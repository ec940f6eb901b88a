"""Passages of books by words: BM25 of the passage and of windows around it."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.analysis import analysis_of, analyzer, is_function_word
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.datasets.book_files import novel_dataset
from irtoolkit.datasets.novels import LONGEST, Novel
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.ranking.book_system import BOOKS, Around, BookSystem
from irtoolkit.ranking.build_index import build
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.stored_index import StoredIndex


class BookLayout:
    """The places of the sentences and passages of some books.

    Args:
        novels: with distinct names.
        margin: sentences that a window may reach beyond its passage.

    Attributes:
        size: places, gaps included.
        sentences: (n,) the place of each sentence.
    """

    def __init__(self, novels: Sequence[Novel], margin: int) -> None:
        self.novels, self.margin = tuple(novels), margin
        self.lengths = np.array([len(novel.sentences) for novel in novels], np.int64)
        gap = margin + LONGEST
        self.begins = gap + np.array([0, *accumulate(self.lengths + gap)], np.int64)[:-1]
        self.size = int(self.begins[-1] + self.lengths[-1]) + gap
        self.sentences = self._joined(self.lengths)

    def _joined(self, counts: Ints) -> Ints:
        parts = [np.arange(a, a + n) for a, n in zip(self.begins, counts, strict=True)]
        return np.concatenate(parts)

    def spread(self, values: Any, absent: float = 0.0) -> Floats:
        """Returns (size,) a value of each sentence at its place; what is `absent` in the gaps."""
        placed = np.full(self.size, absent)
        placed[self.sentences] = values
        return placed

    def sizes(self, length: int) -> Ints:
        """Returns (books,) the sentences of a passage: as many as there are in a shorter book."""
        return np.minimum(length, self.lengths)

    def starts(self, length: int) -> Ints:
        """Returns (p,) the places of the first sentences of all passages."""
        return self._joined(self.lengths - self.sizes(length) + 1)

    def window_sums(self, sums: Floats, length: int, around: int) -> Floats:
        """Returns sums over the window around each place, from those of `running_sums`."""
        width = length + 2 * around
        windows: Floats = sums[width:] - sums[:-width]
        first = self.begins[0] - around
        return windows[first:]

    def passages(self, numbers: Ints, length: int) -> list[tuple[int, int, int]]:
        """Returns book, first sentence and number of sentences of the passages of some numbers."""
        sizes = self.sizes(length)
        counts = self.lengths - sizes + 1
        ends = np.cumsum(counts)
        books = np.searchsorted(ends, numbers, side="right")
        starts = numbers - ends[books] + counts[books]
        return list(zip(books.tolist(), starts.tolist(), sizes[books].tolist(), strict=True))

    def ids(self, numbers: Ints, length: int) -> list[str]:
        """Returns the ids of the passages of some numbers."""
        passages = self.passages(numbers, length)
        return [f"{self.novels[book].name}:{start}+{size}" for book, start, size in passages]


def running_sums(values: Floats) -> Floats:
    """Returns (n + 1,) the sums of the first 0 to n values."""
    return np.concatenate([np.zeros(1), np.cumsum(values)])


# The share of sentences from which on a word is a function word, in languages that have no list.
_EVERYWHERE, _FEWEST = 0.2, 20
# Lengths of passages, with their windows, that are held; the norms of each take 8 bytes a window.
_HELD = 4


class _Window(NamedTuple):
    """The counts of terms in the windows of one size, as BM25 takes them.

    Attributes:
        around: sentences on either side of the passage; 0 for the passage itself.
        share: of the window in the score.
        norms: (p,) what the length of each does to its counts.
    """

    around: int
    share: float
    norms: Floats


class BookWords:
    """The sentences of some books by their terms; passages of any length are searched with them.

    Args:
        novels: with distinct names.
        settings: how passages are scored.
        name: what the index is called in messages.
        progress: whether to show a bar on a terminal while the sentences are indexed.
    """

    def __init__(
        self,
        novels: Sequence[Novel],
        settings: BookSystem = BOOKS,
        *,
        name: str | None = None,
        progress: bool = False,
    ) -> None:
        self.how = settings
        self.layout = BookLayout(novels, max((0, *settings.alone.sizes, *settings.fused.sizes)))
        langs = {novel.lang for novel in novels}
        self.lang = langs.pop() if len(langs) == 1 else None
        data = novel_dataset(list(novels), 1, name=name)
        self.index: StoredIndex = build(data, find_system("bm25", {}), progress=progress)
        self._windows: OrderedDict[tuple[int, Around], list[_Window]] = OrderedDict()
        self._table = threading.Lock()
        analysis = analysis_of(self.index.settings(), self.lang)
        self._analyze = analyzer(*analysis)

    @cached_property
    def _shards(self) -> list[PostingsShard]:
        return [PostingsShard.load(shard) for shard in self.index.open_shards]

    @cached_property
    def _lengths(self) -> Floats:
        """Returns running sums of the numbers of terms of sentences."""
        lengths = np.concatenate([shard.lengths for shard in self._shards])
        return running_sums(self.layout.spread(lengths))

    def is_function_word(self, word: str) -> bool:
        """Whether a word, in lower case, tells no passage from others."""
        is_english = self.lang is None or self.lang.startswith("en")
        if is_english or is_function_word(word, self.lang):
            return is_function_word(word, self.lang)
        term = self._analyze.term(word)
        often = max(_FEWEST, _EVERYWHERE * len(self.layout.sentences))
        spaced = self.lang not in ("zh", "ja")
        return term is None or (spaced and len(self.postings(term)[0]) > often)

    def content_words(self, query: str) -> list[str]:
        """Returns the words of a query, in lower case, without its function words."""
        words = self._analyze.split(self._analyze.lower(query))
        return [word for word in words if not self.is_function_word(word)]

    def terms(self, query: str) -> tuple[Counter[str], frozenset[str]]:
        """Returns the terms of a query with their counts, and those of its content words."""
        content = map(self._analyze.term, self.content_words(query))
        return Counter(self._analyze(query)), frozenset(
            term for term in content if term is not None
        )

    def postings(self, term: str) -> tuple[Ints, Ints]:
        """Returns the numbers of the sentences that have a term, and how often each has it."""
        numbers, counts, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for shard in self._shards:
            position = shard.terms.place(term)
            if position is not None:
                rows = slice(int(shard.starts[position]), int(shard.starts[position + 1]))
                numbers.append(shard.documents[rows].astype(np.int64) + first)
                counts.append(shard.class_counts[shard.classes[rows]])
            first += len(shard)
        return np.concatenate(numbers), np.concatenate(counts)

    def windows(self, length: int, around: Around) -> list[_Window]:
        """Returns the passages of some length, and the windows around them; the last few are held."""
        key = (length, around)
        with self._table:
            if key not in self._windows:
                self._windows[key] = self._new_windows(length, around)
            self._windows.move_to_end(key)
            if len(self._windows) > _HELD:
                self._windows.popitem(last=False)
            return self._windows[key]

    def _new_windows(self, length: int, around: Around) -> list[_Window]:
        windows = []
        for size, share in around.shares():
            sizes = self._at_passages(self._lengths, length, size)
            average = float(sizes.mean()) or 1.0
            norms = self.how.k1 * (1 - self.how.b + self.how.b * sizes / average)
            windows.append(_Window(size, share, norms))
        return windows

    def scores(self, query: str, length: int, around: Around) -> tuple[Floats, Any]:
        """Returns (p,) the score of every passage, and whether it has a content word of the query."""
        counts, content = self.terms(query)
        windows = self.windows(length, around)
        total = np.zeros(len(windows[0].norms))
        hit = np.zeros(len(total), bool)
        if not content:
            return total, hit
        for term, repeats in sorted(counts.items()):
            numbers, term_counts = self.postings(term)
            if not len(numbers):
                continue
            placed = np.zeros(self.layout.size)
            placed[self.layout.sentences[numbers]] = term_counts
            sums = running_sums(placed)
            for window in windows:
                passage_counts = self._at_passages(sums, length, window.around)
                total += repeats * window.share * _weights(passage_counts, window.norms)
                if term in content and not window.around:
                    hit |= passage_counts > 0
        return total, hit

    def _at_passages(self, sums: Floats, length: int, around: int) -> Floats:
        windows = self.layout.window_sums(sums, length, around)
        if len(self.layout.novels) == 1:
            return windows[: max(1, int(self.layout.lengths[0]) - length + 1)]
        passage_sums: Floats = windows[self.layout.starts(length) - self.layout.begins[0]]
        return passage_sums


def _weights(counts: Floats, norms: Floats) -> Floats:
    """Returns what a term adds to windows: its idf among them, times its saturated count."""
    size, document_frequency = len(counts), int(np.count_nonzero(counts))
    idf = np.log(1 + (size - document_frequency + 0.5) / (document_frequency + 0.5))
    weights: Floats = idf * counts / (counts + norms)
    return weights

"""Where terms stand in sentences, found once for all queries."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from irtoolkit.reports.overlap import Overlap, Pieces, cut

# Words whose terms are remembered.
_WORDS = 50_000


class _Occurrences(NamedTuple):
    """The sentences in which a term stands, ascending, and its positions there."""

    sentences: array[int]
    starts: array[int]
    stops: array[int]


class Marks:
    """The terms of some sentences, to be marked in them.

    Args:
        sentences: the texts.
        overlap: finds the terms.

    Attributes:
        frequencies: in how many sentences each term is.
        terms: returns the terms of a word.
    """

    def __init__(self, sentences: Sequence[str], overlap: Overlap) -> None:
        self._sentences = sentences
        self._occurrences: dict[str, _Occurrences] = {}
        self.frequencies: Counter[str] = Counter()
        self.terms = lru_cache(_WORDS)(overlap.terms)
        for number, sentence in enumerate(sentences):
            located = overlap.located(sentence)
            self.frequencies.update({term for _, _, term in located})
            for start, stop, term in located:
                self._add(term, number, start, stop)

    def _add(self, term: str, number: int, start: int, stop: int) -> None:
        own = self._occurrences.get(term)
        if own is None:
            own = self._occurrences[term] = _Occurrences(array("i"), array("i"), array("i"))
        own.sentences.append(number)
        own.starts.append(start)
        own.stops.append(stop)

    def of(self, terms: Collection[str]) -> Callable[[int, int], list[Pieces]]:
        """Returns a function of two numbers: the sentences from one to another, some terms marked."""
        marked = [self._occurrences[term] for term in terms if term in self._occurrences]

        def pieces(first: int, last: int) -> list[Pieces]:
            spans: list[list[tuple[int, int]]] = [[] for _ in range(first, last)]
            for own in marked:
                begin = bisect_left(own.sentences, first)
                for at in range(begin, bisect_left(own.sentences, last, begin)):
                    spans[own.sentences[at] - first].append((own.starts[at], own.stops[at]))
            texts = self._sentences[first:last]
            return [
                cut(text, sorted(own)) if own else [text]
                for text, own in zip(texts, spans, strict=True)
            ]

        return pieces

"""Search for all quotes in a text at once, by an automaton over the letters (Aho-Corasick).

A quote is searched as a whole, and by each of its longer sentences; sentences that follow each
other in the text as in the quote are one occurrence (§4.1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from irtoolkit.building.quoter.corpus import Piece
from irtoolkit.building.quoter.letters import UNSPACED, Letters
from irtoolkit.building.quoter.quotes import Quote

# Raised when other occurrences are found.
FORMAT = 2
# Characters that are no letters between two letters of an occurrence, at most.
GAP = 80
# What may be within a word, and the ends of words that an apostrophe belongs to.
_APOSTROPHES = "'\u2019"
_GOES_ON = re.compile(rf"[{_APOSTROPHES}\u00ad\u0300-\u036f\u200c\u200d]*")
_ENDING = re.compile(r"(?:t|s|d|m|ll|ve|re)\b", re.I)
INSIDE = "inside a longer quote"
SEVERAL = "a sentence of several quotes"


@dataclass(frozen=True, order=True)
class Place:
    """An occurrence of a quote, as letters of a text.

    Attributes:
        begin, end: its letters, `end` not included.
        quote: its number.
        first, last: its sentences, `last` not included.
    """

    begin: int
    end: int
    quote: int
    first: int
    last: int


@dataclass(frozen=True)
class Occurrence:
    """An occurrence of a quote, as characters of a piece.

    Attributes:
        quote: its number.
        first, last: its sentences, `last` not included.
        begin, end: its characters, `end` not included.
    """

    quote: int
    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True)
class Patterns:
    """The patterns of a search.

    Attributes:
        quotes: all quotes.
        alone: least words or characters of a sentence that counts without its neighbours.
    """

    quotes: Sequence[Quote]
    alone: int

    @cached_property
    def owners(self) -> dict[str, list[tuple[int, int, int]]]:
        """Returns letters to the quotes and sentences with these letters."""
        owners: dict[str, list[tuple[int, int, int]]] = {}
        for number, quote in enumerate(self.quotes):
            owners.setdefault(quote.letters, []).append((number, 0, len(quote.parts)))
            for i, size in enumerate(quote.sizes if len(quote.parts) > 1 else ()):
                if size >= self.alone:
                    owners.setdefault(quote.parts[i], []).append((number, i, i + 1))
        return owners

    @cached_property
    def longest(self) -> int:
        """Letters of the longest quote."""
        return max(len(quote.letters) for quote in self.quotes)

    @cached_property
    def _strings(self) -> list[str]:
        return list(self.owners)

    @cached_property
    def _automaton(self) -> Any:
        from ahocorasick_rs import AhoCorasick

        return AhoCorasick(self._strings)

    def matches(self, line: str) -> Iterator[tuple[str, int]]:
        """Yields all matches in a line of letters, each with its first letter."""
        for pattern, begin, _ in self._automaton.find_matches_as_indexes(line, overlapping=True):
            yield self._strings[pattern], begin

    def is_whole(self, occurrence: Place) -> bool:
        """Returns whether an occurrence has all sentences of its quote."""
        return occurrence.last - occurrence.first == len(self.quotes[occurrence.quote].parts)

    def __getstate__(self) -> dict[str, Any]:
        # The automaton is made where it is used.
        return {"quotes": self.quotes, "alone": self.alone}


@dataclass
class Search:
    """The search through the pieces of one text, in order.

    Attributes:
        patterns: the patterns.
        left_out: matches that are not occurrences, by the reason.
    """

    patterns: Patterns
    left_out: Counter[str] = field(default_factory=Counter)
    _last: dict[int, int] = field(default_factory=dict)

    def occurrences(self, piece: Piece) -> Iterator[Occurrence]:
        """Yields the occurrences that belong to a piece, in order."""
        text, positions = piece.text, piece.letters.at
        for occurrence, reason in self._resolved(set(self._places(text, piece.letters))):
            begin, end = int(positions[occurrence.begin]), int(positions[occurrence.end - 1]) + 1
            if not piece.done < end <= piece.safe:
                continue
            if reason:
                self.left_out[reason] += 1
            elif piece.offset + begin >= self._last.get(occurrence.quote, 0):
                self._last[occurrence.quote] = piece.offset + end
                yield Occurrence(occurrence.quote, occurrence.first, occurrence.last, begin, end)

    def _resolved(self, places: Iterable[Place]) -> Iterator[tuple[Place, str]]:
        """Yields places in order, with why each is not an occurrence, or ""."""
        spans: dict[tuple[int, int], list[Place]] = {}
        for occurrence in sorted(places):
            spans.setdefault((occurrence.begin, occurrence.end), []).append(occurrence)
        reached = 0
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            same_span = spans[begin, end]
            # Of the same letters, a whole quote goes before a sentence of another.
            same_span = [
                occurrence for occurrence in same_span if self.patterns.is_whole(occurrence)
            ] or same_span
            if end <= reached:
                yield same_span[0], INSIDE
            else:
                yield (
                    same_span[0],
                    SEVERAL if len({occurrence.quote for occurrence in same_span}) > 1 else "",
                )
            reached = max(reached, end)

    def _places(self, text: str, letters: Letters) -> Iterator[Place]:
        """Yields matches at word borders, extended by the adjacent sentences that follow too."""
        line, owners = letters.line, self.patterns.owners
        for string, begin in self.patterns.matches(line):
            end = begin + len(string)
            if not (_is_border(text, letters, begin) and _is_border(text, letters, end)):
                continue
            for number, first, last in owners[string]:
                occurrence = Place(begin, end, number, first, last)
                if not self._has_borders(text, letters, occurrence):
                    continue
                extended = self._extended(text, letters, occurrence)
                gaps = np.diff(letters.at[extended.begin : extended.end])
                if int(gaps.max(initial=0)) <= GAP + 1:
                    yield extended

    def _has_borders(self, text: str, letters: Letters, occurrence: Place) -> bool:
        """Returns whether no word goes on from one sentence of an occurrence to the next."""
        sizes = map(
            len,
            self.patterns.quotes[occurrence.quote].parts[occurrence.first : occurrence.last - 1],
        )
        ends = accumulate(sizes, initial=occurrence.begin)
        return all(_is_border(text, letters, end) for end in ends)

    def _extended(self, text: str, letters: Letters, occurrence: Place) -> Place:
        parts, line = self.patterns.quotes[occurrence.quote].parts, letters.line
        begin, end = occurrence.begin, occurrence.end
        first, last = occurrence.first, occurrence.last
        while first and begin >= len(part := parts[first - 1]):
            if not line.startswith(part, begin - len(part)):
                break
            if not _is_border(text, letters, begin - len(part)):
                break
            begin, first = begin - len(part), first - 1
        while last < len(parts) and line.startswith(parts[last], end):
            if not _is_border(text, letters, end + len(parts[last])):
                break
            end, last = end + len(parts[last]), last + 1
        return Place(begin, end, occurrence.quote, first, last)


def _is_border(text: str, letters: Letters, position: int) -> bool:
    """Returns whether no word continues from the letter before a place to the one after it."""
    if not 0 < position < len(letters):
        return True
    before, after = int(letters.at[position - 1]), int(letters.at[position])
    if before == after:  # both are of one character
        return False
    if UNSPACED.match(text, before) or UNSPACED.match(text, after):
        return True
    return _GOES_ON.fullmatch(text, before + 1, after) is None or not (
        after == before + 1 or text[after - 1] not in _APOSTROPHES or _ENDING.match(text, after)
    )

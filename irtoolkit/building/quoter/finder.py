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
        found: dict[str, list[tuple[int, int, int]]] = {}
        for number, quote in enumerate(self.quotes):
            found.setdefault(quote.letters, []).append((number, 0, len(quote.parts)))
            for at, size in enumerate(quote.sizes if len(quote.parts) > 1 else ()):
                if size >= self.alone:
                    found.setdefault(quote.parts[at], []).append((number, at, at + 1))
        return found

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

    def is_whole(self, place: Place) -> bool:
        """Returns whether an occurrence has all sentences of its quote."""
        return place.last - place.first == len(self.quotes[place.quote].parts)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "quotes": self.quotes,
            "alone": self.alone,
        }  # the automaton is made where it is used


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
        text, at = piece.text, piece.letters.at
        for place, reason in self._resolved(set(self._places(text, piece.letters))):
            begin, end = int(at[place.begin]), int(at[place.end - 1]) + 1
            if not piece.done < end <= piece.safe:
                continue
            if reason:
                self.left_out[reason] += 1
            elif piece.offset + begin >= self._last.get(place.quote, 0):
                self._last[place.quote] = piece.offset + end
                yield Occurrence(place.quote, place.first, place.last, begin, end)

    def _resolved(self, places: Iterable[Place]) -> Iterator[tuple[Place, str]]:
        """Yields places in order, with why each is not an occurrence, or ""."""
        spans: dict[tuple[int, int], list[Place]] = {}
        for place in sorted(places):
            spans.setdefault((place.begin, place.end), []).append(place)
        reached = 0
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            here = spans[begin, end]
            # Of the same letters, a whole quote goes before a sentence of another.
            here = [place for place in here if self.patterns.is_whole(place)] or here
            if end <= reached:
                yield here[0], INSIDE
            else:
                yield here[0], SEVERAL if len({place.quote for place in here}) > 1 else ""
            reached = max(reached, end)

    def _places(self, text: str, letters: Letters) -> Iterator[Place]:
        """Yields matches at word borders, extended by the adjacent sentences that follow too."""
        line, owners = letters.line, self.patterns.owners
        for string, begin in self.patterns.matches(line):
            end = begin + len(string)
            if not (_is_border(text, letters, begin) and _is_border(text, letters, end)):
                continue
            for number, first, last in owners[string]:
                found = Place(begin, end, number, first, last)
                if not self._has_borders(text, letters, found):
                    continue
                place = self._extended(text, letters, found)
                if not _is_broken(letters, place):
                    yield place

    def _has_borders(self, text: str, letters: Letters, place: Place) -> bool:
        """Returns whether no word goes on from one sentence of an occurrence to the next."""
        sizes = map(len, self.patterns.quotes[place.quote].parts[place.first : place.last - 1])
        ends = accumulate(sizes, initial=place.begin)
        return all(_is_border(text, letters, end) for end in ends)

    def _extended(self, text: str, letters: Letters, place: Place) -> Place:
        parts, line = self.patterns.quotes[place.quote].parts, letters.line
        begin, end, first, last = place.begin, place.end, place.first, place.last
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
        return Place(begin, end, place.quote, first, last)


def _is_border(text: str, letters: Letters, at: int) -> bool:
    """Returns whether no word continues from the letter before a place to the one after it."""
    if not 0 < at < len(letters):
        return True
    before, after = int(letters.at[at - 1]), int(letters.at[at])
    if before == after:  # both are of one character
        return False
    if UNSPACED.match(text, before) or UNSPACED.match(text, after):
        return True
    return _GOES_ON.fullmatch(text, before + 1, after) is None or not (
        after == before + 1 or text[after - 1] not in _APOSTROPHES or _ENDING.match(text, after)
    )


def _is_broken(letters: Letters, place: Place) -> bool:
    return int(np.diff(letters.at[place.begin : place.end]).max(initial=0)) > GAP + 1

"""Quotations of books in a work of criticism: found, checked, and mapped to whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from irtoolkit.building.relic.alignment import Piece, pieces
from irtoolkit.building.relic.marks import Document, Settings, quoted_parts
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.words import CHARACTER, GRAM, Words

# Raised when the same texts give other quotations.
FORMAT = 2
# Words that the author of an article leaves out without and with an ellipsis, and puts in.
_SKIPPED, _ELIDED, _ADDED = 6, 250, 12
_ELLIPSIS = re.compile(r"\.\s?\.|\u2026|\*\s?\*|\[")
# A sentence belongs to a quotation with so many of its words, or half of them.
_ENOUGH = 4
# Words between the end of a piece and the mark that ends the quotation.
_NEAR = 3
# The share of what is in marks that a quotation of few words has.
_WHOLE = 0.8
# A quotation of n words has a ratio of at least this number minus n.
_SURE = 100
# Characters of Chinese and its like that say as much as a word where nothing else marks a quotation.
CHARACTERS = 2


@dataclass(frozen=True)
class Matching:
    """The definition of a quotation.

    Attributes:
        ratio: the lowest QRatio of RapidFuzz between quotation and book, from 0 to 100; with fewer
            than 20 words it must be higher: 100 minus their number.
        run: characters of the longest substring in both, at least.
        words: of a quotation that fills the text between two marks, or is set off, at least; characters
            in Chinese, Japanese, Korean and Thai.
        unmarked: words of any other quotation, at least; twice as many characters.
        longest: sentences of a quotation, at most; longer ones are left out.
    """

    ratio: float = 80.0
    run: int = 15
    words: int = 6
    unmarked: int = 10
    longest: int = 5

    def to_json(self) -> dict[str, Any]:
        """Returns the values by name."""
        return asdict(self)


@dataclass(frozen=True)
class Quotation:
    """A quotation in a work of criticism.

    Attributes:
        book: the quoted book.
        start, length: its sentences in the book.
        begin, end: its position in the text of the document.
        words: number of the article's words that agree.
        ratio: the QRatio of quotation and book.
        kind: "marks", "block", or "unmarked".
        places: number of places in the books with it; 1 if the source is clear.
    """

    book: str
    start: int
    length: int
    begin: int
    end: int
    words: int
    ratio: float
    kind: str
    places: int = 1


@dataclass(frozen=True)
class _Match:
    """Pieces of one quotation, in order."""

    book: ShelvedBook
    parts: tuple[Piece, ...]

    @property
    def first(self) -> int:
        return self.parts[0].first

    @property
    def last(self) -> int:
        return self.parts[-1].last

    @property
    def words(self) -> int:
        return sum(part.last - part.first for part in self.parts)

    @property
    def is_in_characters(self) -> bool:
        """Whether most of its words are single characters of Chinese and its like."""
        part = self.parts[0]
        text = self.book.between(part.start, part.stop)
        return 2 * len(CHARACTER.findall(text)) > part.stop - part.start


def quotations(
    document: Document, books: Iterable[ShelvedBook], matching: Matching
) -> list[Quotation]:
    """Returns the quotations of some books in a document, in its order and without overlap.

    Of two that overlap, the longer one is kept; if both are equally long, because books or places
    in a book agree, the first is kept, and `places` counts them.
    """
    text = Words.of(document.text)
    settings = Settings(text, quoted_parts(document))
    candidates: list[tuple[_Match, str, float]] = []
    for book in books:
        pieces_here = list(pieces(text, book, settings.of_word >= 0))
        for match in _joined(pieces_here, text, document, book):
            checked = _checked(match, text, settings, matching)
            if checked is not None:
                candidates.append((match, *checked))
    matches = (
        _mapped(match, text, kind, ratio, places, settings)
        for match, kind, ratio, places in _best(candidates)
    )
    return sorted(matches, key=lambda quotation: quotation.begin)


def _joined(
    pieces_found: Sequence[Piece], text: Words, document: Document, book: ShelvedBook
) -> Iterator[_Match]:
    """Yields pieces of one quotation together, which an ellipsis or an insertion parts."""
    rest = sorted(set(pieces_found))
    is_taken = bytearray(len(rest))
    for number, piece in enumerate(rest):
        if is_taken[number]:
            continue
        parts = [piece]
        for following in range(number + 1, len(rest)):
            last, more = parts[-1], rest[following]
            if more.first > last.last + _ADDED:
                break
            if is_taken[following]:
                continue
            within = more.start >= last.start and more.stop <= last.stop
            if more.last <= last.last and within:
                is_taken[following] = True  # the same, from another seed
            elif _follows(last, more, text, document):
                is_taken[following] = True
                parts.append(_trimmed(more, last))
        yield _Match(book, tuple(part for part in parts if part.first < part.last))


def _trimmed(piece: Piece, before: Piece) -> Piece:
    """Returns a piece without words that the preceding piece has."""
    return Piece(
        max(piece.first, before.last),
        max(piece.last, before.last),
        max(piece.start, before.stop),
        max(piece.stop, before.stop),
        piece.seeds,
    )


def _follows(before: Piece, after: Piece, text: Words, document: Document) -> bool:
    """Returns whether a piece continues a quotation."""
    added, skipped = after.first - before.last, after.start - before.stop
    if not -GRAM <= added <= _ADDED or not -GRAM <= skipped <= _ELIDED:
        return False
    if after.stop <= before.stop:
        return False
    if skipped <= _SKIPPED:
        return True
    between = document.text[
        text.ends[before.last - 1] : text.begins[min(after.first, len(text) - 1)]
    ]
    return _ELLIPSIS.search(between) is not None or skipped <= 2 * _SKIPPED + 2 * max(0, added)


def _checked(
    match: _Match,
    text: Words,
    settings: Settings,
    matching: Matching,
) -> tuple[str, float] | None:
    """Returns how a match is set, and its ratio; None if it is not a quotation."""
    from rapidfuzz import fuzz

    part = settings.of(match.first, match.last)
    unmarked = matching.unmarked * (CHARACTERS if match.is_in_characters else 1)
    if match.words < (unmarked if part is None else matching.words):
        return None
    # A few words say little, unless they are all that is quoted.
    whole = part is not None and match.last - match.first >= _WHOLE * (part.last - part.first)
    if match.words < unmarked and not whole:
        return None
    quoted = " ".join(text.between(part.first, part.last) for part in match.parts)
    printed = " ".join(match.book.between(part.start, part.stop) for part in match.parts)
    ratio = float(fuzz.QRatio(quoted, printed))
    # The fewer the words, the more alike phrases are that anybody may write.
    if ratio < max(matching.ratio, _SURE - match.words) or not shares_run(
        quoted, printed, matching.run
    ):
        return None
    return ("unmarked" if part is None else part.kind), ratio


def shares_run(first: str, second: str, length: int) -> bool:
    """Returns whether two texts have a common substring of so many characters."""
    runs = {second[i : i + length] for i in range(len(second) - length + 1)}
    return any(first[i : i + length] in runs for i in range(len(first) - length + 1))


def _best(
    matches: Sequence[tuple[_Match, str, float]],
) -> Iterator[tuple[_Match, str, float, int]]:
    """Yields matches that do not overlap, the longest first, with the number of places of each."""
    chosen: list[tuple[_Match, str, float, int]] = []
    owner: dict[int, int] = {}
    order = sorted(matches, key=lambda entry: (-entry[0].words, -entry[2], entry[0].first))
    for match, kind, ratio in order:
        others = {owner[word] for word in range(match.first, match.last) if word in owner}
        if not others:
            owner.update(dict.fromkeys(range(match.first, match.last), len(chosen)))
            chosen.append((match, kind, ratio, 1))
            continue
        for number in others:
            earlier, text, score, places = chosen[number]
            if (
                not _near(match, earlier)
                and match.words >= earlier.words - 1
                and ratio >= score - 3
            ):
                chosen[number] = (earlier, text, score, places + 1)
    yield from chosen


def _near(first: _Match, second: _Match) -> bool:
    """Returns whether two matches are at one place of a book."""
    if first.book.name != second.book.name:
        return False
    return (
        first.parts[0].start < second.parts[-1].stop
        and second.parts[0].start < first.parts[-1].stop
    )


def _mapped(
    match: _Match,
    text: Words,
    kind: str,
    ratio: float,
    places: int,
    settings: Settings,
) -> Quotation:
    """Returns a match as whole sentences of its book, and as a part of the document."""
    start, stop = _sentences(match)
    begin, end = int(text.begins[match.first]), int(text.ends[match.last - 1])
    part = settings.of(match.first, match.last)
    if part is not None:
        # Words at the ends that the author has changed belong to the quotation, too.
        if 0 < match.first - part.first <= _NEAR:
            begin = part.begin
        if 0 < part.last - match.last <= _NEAR:
            end = part.end
    return Quotation(
        match.book.name, start, stop - start, begin, end, match.words, round(ratio, 1), kind, places
    )


def _sentences(match: _Match) -> tuple[int, int]:
    """Returns the first sentence of a match and one past the last.

    A sentence at an end counts with `_ENOUGH` words or half of its words.
    """
    sentence = match.book.sentence
    sentence_counts: dict[int, int] = {}
    for part in match.parts:
        for number in sentence[part.start : part.stop].tolist():
            sentence_counts[number] = sentence_counts.get(number, 0) + 1
    numbers = sorted(sentence_counts)

    def counts(number: int) -> bool:
        first, end = np.searchsorted(sentence, np.array([number, number + 1], sentence.dtype))
        return sentence_counts[number] >= _ENOUGH or 2 * sentence_counts[number] >= end - first

    while len(numbers) > 1 and not counts(numbers[0]):
        numbers.pop(0)
    while len(numbers) > 1 and not counts(numbers[-1]):
        numbers.pop()
    return numbers[0], numbers[-1] + 1

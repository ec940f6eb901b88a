"""Filters of comments: worth aligning, and not merely a repetition of the book (§4.2, step 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from irtoolkit.base.analysis import ANALYZERS, analyzer, analyzer_for
from irtoolkit.base.languages import EAST, language_of
from irtoolkit.building.relic import windows
from irtoolkit.building.relic.marks import Document
from irtoolkit.building.relic.quotations import Matching, quotations
from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.datasets.word_overlap import WordSets, WordSource, word_overlap, word_sets

# Raised when the same comments give others.
FORMAT = 3
# Words that a comment has at least for its language to be told.
_TELLING = 10


@dataclass(frozen=True)
class Limits:
    """The limits of comments.

    Attributes:
        least, most: words of a comment; in Chinese and Japanese, characters.
        overlap: the greatest share of a comment's distinct words that the passage may have (Eq. 5).
        words: the source of the words of Eq. 5, for English: "nltk" as in the paper, or "sklearn".
    """

    least: int = 4
    most: int = 150
    overlap: float = 0.5
    words: WordSource = "sklearn"


@dataclass(frozen=True)
class Filter:
    """The rules that leave comments out.

    Attributes:
        limits: bounds.
        matching: the definition of a quotation of the book.
    """

    limits: Limits = field(default_factory=Limits)
    matching: Matching = field(default_factory=Matching)

    def before(self, text: str, book: ShelvedBook, lang: str | None) -> str:
        """Returns why a comment is left out before its passage is known, or "".

        Args:
            text: the comment.
            book: the book that it is about.
            lang: the language of the book.
        """
        count = length_of(text)
        if count < self.limits.least:
            return f"shorter than {self.limits.least} words"
        if count > self.limits.most:
            return f"longer than {self.limits.most} words"
        # The commonest words of a few say little of their language; a script says it of each.
        spoken = language_of(text) if count >= _TELLING or EAST.search(text) else None
        if spoken and lang and spoken != lang:
            return "in another language than the book"
        if quotations(Document.of([Paragraph(text)]), [book], self.matching):
            return "quotes the book"
        return ""

    def after(self, text: str, passage: Sequence[str], lang: str | None) -> tuple[str, float]:
        """Returns why its overlap with the passage excludes a comment, and the overlap (Eq. 5)."""
        shared = overlap(text, " ".join(passage), lang, self.limits.words)
        if shared > self.limits.overlap:
            return "shares its words with the passage", shared
        if windows.without(text, set(windows.runs(" ".join(passage))))[1]:
            return "repeats a run of words of the passage", shared
        return "", shared


def length_of(text: str) -> int:
    """Returns the number of words of a text, and of characters of Chinese and Japanese."""
    return len(EAST.findall(text)) + len(EAST.sub(" ", text).split())


def overlap(text: str, passage: str, lang: str | None, source: WordSource) -> float:
    """Returns the share of a comment's distinct words, without stop words, in a passage (Eq. 5)."""
    words = _words(lang, source)
    return word_overlap(words(text), words(passage))


@lru_cache
def _words(lang: str | None, source: WordSource) -> WordSets:
    if lang in (None, "en"):
        return word_sets(source)  # as `irtoolkit overlap` counts
    terms = analyzer(*ANALYZERS[analyzer_for(lang)])
    return lambda text: set(terms(text))

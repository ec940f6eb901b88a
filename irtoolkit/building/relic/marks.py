"""Parts of a text that are set as quotations: between quotation marks, or set off by indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.words import Words

# Opening mark to closing marks. English, French, German and straight ones.
_PAIRS = {
    "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u00bb": "\u00ab",
    "\u2039": "\u203a", '"': '"',
}  # fmt: skip
_SINGLE = {"\u2018": "\u2019", "'": "'", "\u201a": "\u2018\u2019"}
MARKS = "".join({*_PAIRS, *"".join(_PAIRS.values()), *_SINGLE, *"".join(_SINGLE.values())})
# Between two paragraphs of a document.
BREAK = "\n\n"


@dataclass(frozen=True)
class Document:
    """Paragraphs as one text.

    Attributes:
        text: the paragraphs, with `BREAK` between two.
        paragraphs: in order.
        begins: where each begins in the text.
    """

    text: str
    paragraphs: Sequence[Paragraph]
    begins: Sequence[int]

    @classmethod
    def of(cls, paragraphs: Sequence[Paragraph]) -> Document:
        """Paragraphs as one text."""
        begins, at = [], 0
        for paragraph in paragraphs:
            begins.append(at)
            at += len(paragraph.text) + len(BREAK)
        return cls(BREAK.join(p.text for p in paragraphs), tuple(paragraphs), begins)


@dataclass(frozen=True)
class Quoted:
    """A part of a document that is set as a quotation.

    Attributes:
        begin, end: in the text of the document, without the marks.
        kind: "marks" or "block".
    """

    begin: int
    end: int
    kind: str


class Setting(NamedTuple):
    """A part of a document that is set as a quotation, with its words.

    Attributes:
        begin, end, kind: as `Quoted` has them.
        first, last: its words, `last` not included.
    """

    begin: int
    end: int
    kind: str
    first: int
    last: int


class Settings:
    """The parts of a document that are set as quotations, found by words.

    Attributes:
        of_word: (W,) the number of the narrowest part that has a word; -1 where none has.
    """

    def __init__(self, text: Words, parts: Sequence[Quoted]) -> None:
        self._parts = [
            Setting(part.begin, part.end, part.kind, *text.within(part.begin, part.end))
            for part in parts
        ]
        self._wider: list[int] = []
        self.of_word = np.full(len(text), -1, np.int64)
        # A part that lies in another comes after it.
        for number, part in enumerate(self._parts):
            inside = part.first < part.last
            self._wider.append(int(self.of_word[part.first]) if inside else -1)
            self.of_word[part.first : part.last] = number

    def of(self, first: int, last: int) -> Setting | None:
        """The narrowest part that has most of some words; None where none has."""
        best: Setting | None = None
        for inner in np.unique(self.of_word[first:last]).tolist():
            number = inner
            while number >= 0:
                part = self._parts[number]
                shared = min(last, part.last) - max(first, part.first)
                if 2 * shared > last - first:
                    if best is None or part.last - part.first < best.last - best.first:
                        best = part
                    break
                number = self._wider[number]
        return best


def quoted_parts(document: Document) -> list[Quoted]:
    """The parts that are set as quotations, in order; one may lie in another."""
    found = []
    for begin, paragraph in zip(document.begins, document.paragraphs, strict=True):
        if paragraph.set_off:
            found.append(Quoted(begin, begin + len(paragraph.text), "block"))
        found += [
            Quoted(begin + first, begin + last, "marks") for first, last in marked(paragraph.text)
        ]
    return sorted(found, key=lambda part: (part.begin, -part.end))


def marked(text: str) -> Iterator[tuple[int, int]]:
    """Yields the parts of a paragraph between quotation marks, without the marks.

    A quotation that the paragraph does not close ends with it, as one of several paragraphs does. An
    apostrophe opens and closes nothing.
    """
    yield from _pairs(text, _PAIRS)
    yield from _pairs(text, _SINGLE)


def _pairs(text: str, pairs: dict[str, str]) -> Iterator[tuple[int, int]]:
    opened, closing = -1, ""
    for match in re.finditer(
        "[" + re.escape("".join({*pairs, *"".join(pairs.values())})) + "]", text
    ):
        at, mark = match.start(), match[0]
        if opened >= 0 and mark in closing:
            if mark in "'\u2019" and not _closes(text, at):
                continue
            yield opened, at
            opened = -1
        elif opened < 0 and mark in pairs and _opens(text, at):
            opened, closing = at + 1, pairs[mark]
    if opened >= 0 and closing not in ("\u2019", "'"):
        yield opened, len(text)


def _opens(text: str, at: int) -> bool:
    """Whether a mark may open a quotation: a word follows it, and none comes directly before it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return not before.isalnum() and bool(after) and not after.isspace()


def _closes(text: str, at: int) -> bool:
    """Whether a single mark closes a quotation and is no apostrophe."""
    return not text[at + 1 : at + 2].isalnum() and not text[at - 1 : at].isspace()

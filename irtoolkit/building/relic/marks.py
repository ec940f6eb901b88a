"""Parts of a text that are set as quotations: between quotation marks, or set off by indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from irtoolkit.base.languages import CHARACTER_RANGES
from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.words import Words

Group = Mapping[str, str | tuple[str, ...]]
# Opening marks and what closes them: those of all languages, those of OCR, which mixes straight and
# curly ones, and those of TeX. Each group is looked for by itself, so that one lies in another.
_OUTER: Group = {
    "\u201c": '\u201d"',
    "\u201e": '\u201c\u201d\u201f"',
    "\u201f": '\u201d\u201c"',
    "\u201d": "\u201d",
    "\u00ab": "\u00bb",
    "\u00bb": "\u00ab\u00bb",
    '"': '"\u201d\u201c',
    "\u2033": "\u2033",
    "\uff02": "\uff02",
    "``": ("''", "\u201d", '"'),
    "\u300c": "\u300d",
    "\ufe41": "\ufe42",
    "\u301d": "\u301e\u301f",
}
_INNER: Group = {
    "\u2039": "\u203a",
    "\u203a": "\u2039\u203a",
    "\u300e": "\u300f",
    "\ufe43": "\ufe44",
}
_SINGLE: Group = {
    "\u2018": "\u2019",
    "'": "'",
    "\u201a": "\u2018\u2019",
    "\u201b": "\u2019",
    "`": "'\u2019",
}
_GROUPS = (_OUTER, _INNER, _SINGLE)
_ENDS = ".,;:!?\u2026"
_APOSTROPHES = "'\u2019"
MARKS = "".join(
    sorted(
        {
            mark
            for group in _GROUPS
            for pair in group.items()
            for mark in "".join(map("".join, pair))
        }
    )
)
# They open a quotation wherever they are.
_ALWAYS_OPEN = "\u300c\u300e\ufe41\ufe43\u301d\uff02"
# A space may follow them in French and where they open.
_GUILLEMETS = "\u00ab\u2039"
# Before a quotation, these are no part of a word that a mark belongs to.
_CHARACTER = re.compile(f"[{CHARACTER_RANGES}]")
# Between two paragraphs of a document.
BREAK = "\n\n"


@dataclass(frozen=True)
class Document:
    """Paragraphs as one text.

    Attributes:
        text: the paragraphs, with `BREAK` between two.
        paragraphs: in order.
        begins: the position of each in the text.
    """

    text: str
    paragraphs: Sequence[Paragraph]
    begins: Sequence[int]

    @classmethod
    def of(cls, paragraphs: Sequence[Paragraph]) -> Document:
        """Paragraphs as one text."""
        begins, position = [], 0
        for paragraph in paragraphs:
            begins.append(position)
            position += len(paragraph.text) + len(BREAK)
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
    """The parts of a document that are set as quotations, by words.

    Attributes:
        of_word: (W,) the number of the narrowest part that has a word; -1 if none has.
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
        """Returns the narrowest part that has most of some words; None if none has."""
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
    """Returns the parts that are set as quotations, in order; one may lie in another."""
    parts = []
    for begin, paragraph in zip(document.begins, document.paragraphs, strict=True):
        if paragraph.set_off:
            parts.append(Quoted(begin, begin + len(paragraph.text), "block"))
        parts += [
            Quoted(begin + first, begin + last, "marks") for first, last in marked(paragraph.text)
        ]
    return sorted(parts, key=lambda part: (part.begin, -part.end))


def marked(text: str) -> Iterator[tuple[int, int]]:
    """Yields the parts of a paragraph between quotation marks, without the marks.

    A quotation that the paragraph does not close ends with it, as one of several paragraphs does. An
    apostrophe opens and closes nothing.
    """
    for group in _GROUPS:
        yield from _pairs(text, group)


def _pairs(text: str, group: Group) -> Iterator[tuple[int, int]]:
    """Yields the parts between the marks of one group, without nesting."""
    opened, opening, inside = -1, "", False
    for match in _pattern(group).finditer(text):
        position, mark = match.start(), match[0]
        if opening == '"' and mark == "\u201c" and _opens(text, match):
            inside = True  # curly marks within straight ones
        elif inside and mark == "\u201d":
            inside = False
        elif opened >= 0 and mark in group[opening]:
            if _closes(text, match, group):
                if opened < position:
                    yield _stripped(text, opened, position)
                opened, opening = -1, ""
        elif opened < 0 and mark in group and _opens(text, match):
            opened, opening = match.end(), mark
    if opened >= 0 and group is not _SINGLE:
        yield _stripped(text, opened, len(text))


@cache
def _pattern_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_literal, sorted(marks, key=len, reverse=True))))


def _literal(mark: str) -> str:
    # One of two, as TeX has them, is no mark by itself.
    return "(?<!`)`(?!`)" if mark == "`" else re.escape(mark)


def _pattern(group: Group) -> re.Pattern[str]:
    """Returns the pattern of a group's marks, the longest first."""
    return _pattern_of(
        tuple(sorted({*group, *(mark for closing in group.values() for mark in closing)}))
    )


def _stripped(text: str, begin: int, end: int) -> tuple[int, int]:
    """Returns a part without the spaces that French has between marks and text."""
    part = text[begin:end]
    return begin + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _opens(text: str, match: re.Match[str]) -> bool:
    """Returns whether a mark may open a quotation: text follows, and no word precedes directly."""
    mark, before, after = (
        match[0],
        text[match.start() - 1 : match.start()],
        text[match.end() : match.end() + 1],
    )
    if not after:
        return False
    if mark in _ALWAYS_OPEN:
        return True
    if before.isalnum() and not _CHARACTER.match(before):
        return False
    if mark == "\u201d" and before and before in _ENDS:
        return False  # it closes what an earlier paragraph has opened
    return not after.isspace() or mark in _GUILLEMETS


def _closes(text: str, match: re.Match[str], group: Group) -> bool:
    """Returns whether a mark that may close a quotation does."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    mark = match[0]
    if mark in _APOSTROPHES:
        return not after.isalnum() and not before.isspace()
    # A mark that may also open, as Swedish ones do, opens where a word follows it, and a space comes before.
    return mark not in group or not (before.isspace() and after.isalnum())

"""Footnotes and endnotes in plain text: paragraphs that marks in the text refer to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from irtoolkit.datasets.editions.lines import Paragraph

_BEGIN = re.compile(
    r"\[(?:foot ?note|note|fu\u00dfnote|fussnote|nota|\u043f\u0440\u0438\u043c\u0435\u0447\u0430\u043d\u0438\u0435)s?\b[ :]*(?P<name>[\w*\u2020\u2021]{0,4})\s*[:.\]]"
    r"|\[(?P<number>\^?\w{1,4}|\*{1,3})\]:?\s",
    re.I,
)
# Notes without brackets begin with the mark that is raised above the line in the text: "the mill\u00b9 stood".
_SIGN = r"[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}|\*{1,3}|[\u2020\u2021]{1,3}|\(\d{1,3}\)"
_BEGIN_RAISED = re.compile(rf"(?P<name>{_SIGN}) ?(?=[^\W_]|[\"\u201c\u00ab])")
_RAISED = re.compile(rf"(?<=[\w.,;:!?\"'\u201d\u2019\u00bb])(?P<name>{_SIGN})(?![\w*])")
_MARK = re.compile(r"\[(?P<name>\^?\w{1,4}|\*{1,3})\]")
_HAS_SIGN = re.compile(r"[\u00b9\u00b2\u00b3\u2070\u2074-\u2079*\u2020\u2021]|\(\d")
_EMPHASIS = re.compile(r"(?:^|[\s(\"\u201c])\*+[^\W_]")
# Paragraphs of a note in brackets, at most.
_LONGEST = 20


class Notes:
    """The notes among paragraphs.

    Args:
        paragraphs: in order.
        apart: those that are marked as notes.

    Attributes:
        numbers: which paragraphs are notes.
    """

    def __init__(
        self, paragraphs: Sequence[Paragraph], apart: frozenset[int] = frozenset()
    ) -> None:
        self.numbers: set[int] = set(apart)
        self._names: set[str] = set()
        self._raised: set[str] = set()
        self._add_bracketed(paragraphs)
        self._add_raised(paragraphs)

    def _add_bracketed(self, paragraphs: Sequence[Paragraph]) -> None:
        marks = {
            match["name"]
            for p in paragraphs
            if "[" in p.text
            for match in _MARK.finditer(p.text, 1)
        }
        number = 0
        while number < len(paragraphs):
            text = paragraphs[number].text
            match = _BEGIN.match(text) if text.startswith("[") else None
            if match is None or (match["number"] and match["number"] not in marks):
                number += 1
                continue
            self._names.add(match["name"] or match["number"] or "")
            last = number + 1 if match["number"] else _end(paragraphs, number)
            self.numbers.update(range(number, last))
            number = last

    def _add_raised(self, paragraphs: Sequence[Paragraph]) -> None:
        """Adds the paragraphs that begin with a sign for which a mark before them has waited."""
        waiting: Counter[str] = Counter()
        for number, paragraph in enumerate(paragraphs):
            text = paragraph.text
            match = _BEGIN_RAISED.match(text)
            if match is not None and "*" in text[match.end() :]:
                continue  # emphasis
            if match is not None and waiting[match["name"]] and number not in self.numbers:
                waiting[match["name"]] -= 1
                self._raised.add(match["name"])
                self.numbers.add(number)
            elif _HAS_SIGN.search(text) and not _EMPHASIS.search(text):
                waiting.update(match["name"] for match in _RAISED.finditer(text))

    def without_marks(self, text: str) -> tuple[str, list[str]]:
        """Returns a text without the marks that refer to notes, and these marks."""
        marks: list[str] = []
        for pattern, names in ((_MARK, self._names), (_RAISED, self._raised)):
            if names:
                matches = [match for match in pattern.finditer(text) if match["name"] in names]
                marks += [match[0] for match in matches]
                text = _without(text, matches)
        return (" ".join(text.split()) if marks else text), marks


def _without(text: str, matches: Sequence[re.Match[str]]) -> str:
    ends = [0, *(match.end() for match in matches)]
    begins = [*(match.start() for match in matches), len(text)]
    return "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))


def _end(paragraphs: Sequence[Paragraph], first: int) -> int:
    """Returns one past the last paragraph of a note in brackets."""
    depth = 0
    for number in range(first, min(len(paragraphs), first + _LONGEST)):
        depth += paragraphs[number].text.count("[") - paragraphs[number].text.count("]")
        if depth <= 0:
            return number + 1
    return first + 1

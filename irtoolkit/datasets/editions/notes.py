"""Footnotes and endnotes in plain text: paragraphs that marks in the text refer to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

_BEGIN = re.compile(
    r"\[(?:foot ?note|note|fu\u00dfnote|fussnote|nota|\u043f\u0440\u0438\u043c\u0435\u0447\u0430\u043d\u0438\u0435)s?\b[ :]*(?P<name>[\w*\u2020\u2021]{0,4})\s*[:.\]]"
    r"|\[(?P<number>\^?\w{1,4}|\*{1,3})\]:?\s",
    re.I,
)
_MARK = re.compile(r"\[(?P<name>\^?\w{1,4}|\*{1,3})\]")
# Paragraphs of a note in brackets, at most.
_LONGEST = 20


class Text(Protocol):
    """The parts of a paragraph used here; see `headings.Paragraph`."""

    @property
    def text(self) -> str: ...


class Notes:
    """The notes among paragraphs.

    Args:
        paragraphs: in order.
        apart: those that are marked as notes.

    Attributes:
        numbers: which paragraphs are notes.
    """

    def __init__(self, paragraphs: Sequence[Text], apart: frozenset[int] = frozenset()) -> None:
        self.numbers: set[int] = set(apart)
        self._names: set[str] = set()
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

    def without_marks(self, text: str) -> tuple[str, list[str]]:
        """Returns a text without the marks that refer to notes, and these marks."""
        if not self._names or "[" not in text:
            return text, []
        marks = [match[0] for match in _MARK.finditer(text) if match["name"] in self._names]
        bare = _MARK.sub(lambda m: "" if m["name"] in self._names else m[0], text)
        return " ".join(bare.split()), marks


def _end(paragraphs: Sequence[Text], first: int) -> int:
    """Returns one past the last paragraph of a note in brackets."""
    depth = 0
    for number in range(first, min(len(paragraphs), first + _LONGEST)):
        depth += paragraphs[number].text.count("[") - paragraphs[number].text.count("]")
        if depth <= 0:
            return number + 1
    return first + 1

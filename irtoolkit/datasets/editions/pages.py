"""Page numbers and running heads in printed and scanned texts.

A line is taken for one only with evidence: brackets, a page break beside it, or numbers that
continue from page to page and interrupt the text. A year, or a refrain in capitals, is text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from irtoolkit.datasets.editions.heading_forms import form_of
from irtoolkit.datasets.editions.numbers import roman

# A line that stands for a page break.
BREAK = "\f"
PAGE_NUMBER, RUNNING_HEAD = "page number", "running head"
_PAGE = re.compile(
    r"(?P<open>[\s\[({<~|\u2014\u2013*=\u2022\u00b7\u25cf-]*(?:p(?:age|g|\.)?\.?\s*|\u7b2c\s*)?)"
    r"(?P<number>\d{1,4}|[ivxl]{1,7})(?P<close>[\s\])}>~|.\u2014\u2013*=\u2022\u00b7\u25cf\u9875\u9801-]*)",
    re.I,
)
_INLINE = re.compile(r"\[(?:pg|page|p\.)\s*\w{1,6}\]\s?|\{\d{1,4}\}\s?", re.I)
# The most characters of a running head, and how often it must occur.
_HEAD, _OFTEN = 60, 3
# The most lines, blank ones included, between a running head and the number or break of its page.
_BESIDE = 3
# The largest step from one page number to the next: some pages have none.
_STEP = 4
# The largest median of characters per page; and how regular pages are.
_LONGEST_PAGE, _REGULAR = 5000, 2.5
# The number of pages from which regularity alone is evidence.
_MANY = 8
# Running heads that are not in capitals and have no number need more evidence: all but a few are beside a
# page's number or break.
_MIXED, _MOST = "~", 0.9
# The smallest median of characters from one of them to the next.
_SHORTEST_PAGE = 400
_MIXED_HEAD = re.compile(r"[^\W\d_a-z\u00df-\u00ff\u0430-\u044f][^.!?;:,\u3002\uff01\uff1f\uff0c]*")
_WORDS = 8
_ENDED = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f\"'\u201d\u2019\u00bb)\]*]\s*$|--$|\u2014$")


class _Line(NamedTuple):
    """A line that may be a page number or running head.

    Attributes:
        line: its number from 1.
        place: its offset in characters.
        shape: of a running head; empty of a number. It begins with `_MIXED` if it is not in capitals.
        value: of a number; None of a running head.
        sure: whether its form is one that only page numbers have.
    """

    line: int
    place: int
    shape: str
    value: int | None
    sure: bool


@dataclass(frozen=True)
class Pages:
    """The page numbers and running heads of a text.

    Attributes:
        numbers: the lines of page numbers, counted from 1.
        heads: the shapes of running heads.
        headings: lines of these shapes that are headings.
    """

    numbers: frozenset[int] = frozenset()
    heads: frozenset[str] = frozenset()
    headings: frozenset[int] = frozenset()

    @classmethod
    def of(cls, lines: Iterable[str]) -> Pages:
        """Returns the page numbers and running heads of a text; a page break is a line `BREAK`."""
        survey = _Survey()
        for line in lines:
            survey.add(line)
        return survey.pages()

    def reason(self, number: int, line: str) -> str:
        """Returns the kind of a page line; "" for text."""
        if number in self.numbers:
            return PAGE_NUMBER
        if not self.heads or number in self.headings:
            return ""
        return RUNNING_HEAD if shape_of(line) in self.heads else ""


@dataclass
class _Survey:
    """Collects the lines that may be a page's, and whether they interrupt the text."""

    candidates: list[_Line] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    interrupts: set[int] = field(default_factory=set)
    number: int = 0
    place: int = 0
    _open: list[int] = field(default_factory=list)  # candidates since the last line of text
    _ended: bool = True  # whether that line ended a sentence
    _mixed: set[str] = field(default_factory=set)  # shapes that are not in capitals

    def add(self, line: str) -> None:
        """Takes the next line."""
        self.number += 1
        if line == BREAK:
            self.breaks.append(self.number)
            return
        self.place += len(line)
        bare = line.strip()
        if not bare:
            return
        candidate = self._candidate(bare) if len(bare) <= _HEAD else None
        if candidate is not None:
            self.candidates.append(candidate)
            is_new = candidate.shape.startswith(_MIXED) and candidate.shape not in self._mixed
            self._mixed.update([candidate.shape] if is_new else ())
            if not is_new:
                self._open.append(candidate.line)
                return
        if self._open and not self._ended and bare[:1].islower():
            self.interrupts.update(self._open)
        self._open.clear()
        self._ended = _ENDED.search(bare) is not None

    def _candidate(self, bare: str) -> _Line | None:
        match = _PAGE.fullmatch(bare)
        if match is not None:
            value = int(match["number"]) if match["number"].isdigit() else roman(match["number"])
            before, after = match["open"].strip(), match["close"].strip(" .")
            sure = (bool(before) and bool(after)) or len(before) > 1
            return None if value is None else _Line(self.number, self.place, "", value, sure)
        shape = shape_of(bare)
        return _Line(self.number, self.place, shape, None, False) if shape else None

    def pages(self) -> Pages:
        """Returns the page numbers and running heads, after the last line."""
        numbers = [line for line in self.candidates if line.value is not None]
        page_lines = {
            line.line for line in numbers if line.sure or self._is_beside(line.line, self.breaks)
        }
        page_lines |= self._in_order(numbers)
        heads = frozenset(self._heads(page_lines))
        return Pages(frozenset(page_lines), heads, frozenset(self._headings(heads)))

    def _headings(self, heads: frozenset[str]) -> Iterator[int]:
        """Yields the first lines of running heads that are headings, too, such as "CHAPTER I"."""
        texts: set[str] = set()
        for line in self.candidates:
            if line.shape in heads and line.shape not in texts and _FORM in line.shape:
                yield line.line
            texts.add(line.shape)

    def _in_order(self, numbers: list[_Line]) -> set[int]:
        """Returns the lines of numbers that go on from page to page."""
        runs: list[list[_Line]] = [[]]
        for line in numbers:
            last = runs[-1][-1] if runs[-1] else None
            if last is not None and not 0 < (line.value or 0) - (last.value or 0) <= _STEP:
                runs.append([])
            runs[-1].append(line)
        return {line.line for run in runs if self._are_pages(run) for line in run}

    def _are_pages(self, run: list[_Line]) -> bool:
        """Returns whether numbers in order are those of pages, and not of chapters."""
        if len(run) < 2:
            return any(line.line in self.interrupts for line in run)
        if 4 * sum(line.line in self.interrupts for line in run) >= len(run):
            return True
        sizes = sorted(following.place - line.place for line, following in pairwise(run))
        middle = median(sizes)
        regular = sizes[3 * len(sizes) // 4] <= _REGULAR * max(1, sizes[len(sizes) // 4])
        return len(run) >= _MANY and middle <= _LONGEST_PAGE and regular

    def _heads(self, numbers: set[int]) -> Iterator[str]:
        """Yields the shapes of running heads: frequent, and mostly at the top of a page."""
        beside = sorted([*self.breaks, *numbers])
        shaped: dict[str, list[_Line]] = defaultdict(list)
        for line in self.candidates:
            if line.shape:
                shaped[line.shape].append(line)
        for shape, lines in shaped.items():
            if len(lines) < _OFTEN:
                continue
            beside_count = sum(self._is_beside(line.line, beside) for line in lines)
            if shape.startswith(_MIXED):
                sizes = [following.place - line.place for line, following in pairwise(lines)]
                most = min(_MOST * len(lines), len(lines) - 1)  # the first one may be a title
                if beside_count >= most and median(sizes) >= _SHORTEST_PAGE:
                    yield shape
                continue
            beside_count += sum(
                line.line in self.interrupts and not self._is_beside(line.line, beside)
                for line in lines
            )
            if 2 * beside_count >= len(lines):
                yield shape

    def _is_beside(self, line: int, others: list[int]) -> bool:
        """Returns whether one of some lines, ascending, is beside another."""
        index = bisect_left(others, line - _BESIDE)
        return index < len(others) and others[index] <= line + _BESIDE


def shape_of(line: str) -> str:
    """Returns the common shape of running heads of one kind; "" for other lines."""
    bare = line.strip()
    if not 3 < len(bare) <= _HEAD:
        return ""
    letters = re.sub(r"[^\w ]|\d", "", bare).strip()
    if len(letters) < 4:
        return ""
    numbered = re.match(r"\d{1,4}\s+\D|.*\D\s\d{1,4}$", bare) is not None
    in_capitals = letters.isupper()
    if not (in_capitals or (numbered and bare[:1] not in "\"'\u201c")):
        words = bare.split()
        is_title = len(words) <= _WORDS and _MIXED_HEAD.fullmatch(bare) is not None
        # "The Silent Ferry", but not "The ferry went", which text goes on from.
        is_title = is_title and not any(word[0].islower() for word in words if len(word) > 3)
        return f"{_MIXED}{_form(bare)}{letters.casefold()}" if is_title else ""
    return f"{_form(bare)}{letters.casefold()}"


# In the shape of a line that has the form of a heading, with its number: no two chapters have one shape.
_FORM = "#"


def _form(bare: str) -> str:
    form = form_of(bare)
    if form is None or not form.name or not form.value or form.rest.isdigit():
        return ""
    return f"{_FORM}{form.value}"


def without_inline(line: str) -> tuple[str, list[str]]:
    """Returns a line without marks of pages, for example [Pg 12], and these marks."""
    if "[" not in line and "{" not in line:
        return line, []
    marks = _INLINE.findall(line)
    return (_INLINE.sub("", line), marks) if marks else (line, marks)

"""Printed and scanned texts without page numbers, headers and other additions of the page.

Removed are page numbers, running heads, footnotes and their marks, citations in brackets, and the
hyphens at the ends of lines; two columns are read one after the other. The rest are paragraphs;
those set off by indentation are marked as such. (RELiC, appendix A, names citations, headers,
footers and word breaks.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from irtoolkit.base.errors import InputError
from irtoolkit.building.reading import LONGEST_LINE, Source
from irtoolkit.building.relic.words import count_words
from irtoolkit.datasets.editions.columns import in_one_column
from irtoolkit.datasets.editions.lines import WORD, Joiner, Line
from irtoolkit.datasets.editions.pages import BREAK, RUNNING_HEAD, Pages, without_inline

# Raised when the same bytes give other paragraphs.
FORMAT = 3
_NOTE = re.compile(
    r"\s*(?:\[footnote\b|\[(\d{1,3}|[A-Z*\u2020])\]\s|[*\u2020\u2021]+\s?[A-Z\"\u201c])", re.I
)
_MARK = re.compile(
    r"\[(?:\d{1,3}|[A-Z]|\*+|[ivx]{1,5})\]"
    r"|(?<=[\w.,;:!?\"'\u201d\u2019])[*\u2020\u2021]+(?=\s|$)"
    r"|(?<=[.,;!?][\"\u201d\u2019])\d{1,3}(?=\s|$)"
)
_CITATION = re.compile(
    r"\s?\((?:see |cf\. )?(?:[A-Z][\w.'\u2019&]*(?: [\w.'\u2019&]+){0,4},? )?"
    r"(?:(?:pp?|ch(?:ap)?s?|chapter|vol|bk|book|sect?)\.? ?[\divxlc]+|[1-9]\d{0,2})"
    r"(?:(?:[-\u2013,;] ?|, )(?:pp?\. ?|ch(?:ap)?\. ?|vol\. ?)?[\divxlc]+){0,4}\)",
    re.I,
)
_LETTER = re.compile(r"[^\W\d_]")
_RULE = re.compile(r"\s*(?:[*\u2022\u00b7.=_~#-]\s*){2,}$")
_ENDED = re.compile(r"[.!?:;\u2014\"'\u201d\u2019)\]]$|--$")
# Characters of a paragraph, about, at most; longer ones, as of a text without empty lines, are divided.
LONGEST_PARAGRAPH = 2 * LONGEST_LINE
# A paragraph is set off where it is indented by so many characters more than most.
_SET_OFF = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph on one line.

    Attributes:
        text: without hyphens of line ends.
        set_off: whether it is indented as a whole, as block quotations are.
        heading: whether it is a heading.
    """

    text: str
    set_off: bool = False
    heading: bool = False


@dataclass
class Scan:
    """A text that is cleaned while it is read.

    Attributes:
        source: the text.
        pages, removed: counts of what was removed with pages and from paragraphs; complete after
            all paragraphs were read.
        words: number of words of the paragraphs read.
        heads: the running heads that were removed.
    """

    source: Source
    pages: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    words: int = 0
    heads: Counter[str] = field(default_factory=Counter)

    def paragraphs(self) -> Iterator[Paragraph]:
        """Yields the paragraphs; to be called once.

        Raises:
            InputError: at the end, if there were none.
        """
        survey = Survey.of(self.source.lines())
        bare = _without_pages(self.source.lines(), survey.pages, self.pages, self.heads)
        # The right column of each page comes after its left one.
        lines = (line.text for line in in_one_column(Line(0, text) for text in bare))
        has_letters = False
        for paragraph in _paragraphs(lines, survey, self.removed):
            self.words += count_words(paragraph.text)
            has_letters = has_letters or _LETTER.search(paragraph.text) is not None
            yield paragraph
        if not has_letters:
            raise InputError(
                "there is no text in it", remedy="remove the file, or put a text into it"
            )


@dataclass(frozen=True)
class Survey:
    """A survey of all lines of a text before they are cleaned.

    Attributes:
        pages: page numbers and running heads.
        known: frequency of each word in the text.
        indent: the usual indentation of long lines, in characters.
    """

    pages: Pages
    known: Counter[str]
    indent: int

    @classmethod
    def of(cls, lines: Iterable[str]) -> Survey:
        """Returns the survey of all lines of a text."""
        words: Counter[str] = Counter()
        indents: Counter[int] = Counter()

        def seen() -> Iterator[str]:
            for line in lines:
                words.update(WORD.findall(line.casefold()))
                if len(line.strip()) > 30:
                    indents[len(line) - len(line.lstrip())] += 1
                yield line

        pages = Pages.of(seen())
        return cls(pages, words, indents.most_common(1)[0][0] if indents else 0)


def _without_pages(
    lines: Iterable[str], pages: Pages, removed: Counter[str], page_lines: Counter[str]
) -> Iterator[str]:
    """Yields lines with page numbers and running heads replaced by breaks."""
    for number, line in enumerate(lines, 1):
        reason = pages.reason(number, line) if line != BREAK else ""
        if reason:
            removed[f"{reason}s"] += 1
            if reason == RUNNING_HEAD:
                page_lines[" ".join(line.split())] += 1
            yield BREAK
            continue
        bare, marks = without_inline(line)
        removed["page numbers"] += len(marks)
        yield bare


def _paragraphs(lines: Iterable[str], survey: Survey, removed: Counter[str]) -> Iterator[Paragraph]:
    joiner = Joiner(survey.known, True, lambda _: removed.update(["hyphens at line ends"]))
    last: Paragraph | None = None
    for block, after_break in _blocks(lines):
        indent = min(len(line) - len(line.lstrip()) for line in block)
        text = joiner.join([line.strip() for line in block])
        if _NOTE.match(text) and last is not None:
            removed["footnotes"] += 1
            continue
        text, marks = _MARK.subn("", text)
        text, citations = _CITATION.subn("", text)
        removed["marks of footnotes"] += marks
        removed["citations"] += citations
        text = " ".join(text.split())
        if not re.search(r"\w", text):
            continue
        heading = len(text) <= 80 and text.isupper()
        paragraph = Paragraph(text, indent >= survey.indent + _SET_OFF and not heading, heading)
        if last is not None and after_break and _continues(last, paragraph):
            last = Paragraph(joiner.join([last.text, paragraph.text]), last.set_off)
            continue
        if last is not None:
            yield last
        last = paragraph
    if last is not None:
        yield last


def _blocks(lines: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Yields the lines of each paragraph, and whether a page ended before it."""
    block: list[str] = []
    size, broken = 0, False
    for line in chain(lines, [""]):
        inside = line != BREAK and line.strip() and not _RULE.fullmatch(line)
        if inside:
            block.append(line)
            size += len(line)
            if size < LONGEST_PARAGRAPH:
                continue
        if block:
            yield block, broken
            block, size, broken = [], 0, False
        broken = broken or line == BREAK


def _continues(before: Paragraph, after: Paragraph) -> bool:
    """Returns whether a paragraph goes on after the end of a page."""
    if before.heading or after.heading or before.set_off != after.set_off:
        return False
    if len(before.text) >= LONGEST_PARAGRAPH:
        return False
    return after.text[:1].islower() and not re.search(r"[.!?]$", before.text)

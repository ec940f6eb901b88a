"""Printed and scanned texts without what the page has added to them.

Removed are page numbers, running heads, footnotes and their marks, citations in brackets, and the
hyphens at the ends of lines. What is left are paragraphs, of which those set off by indentation are
known as such. (RELiC, appendix A, names citations, headers, footers and word breaks.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import chain

from irtoolkit.base.errors import InputError
from irtoolkit.building.reading import LONGEST_LINE, Source
from irtoolkit.building.relic.words import count_words

# Raised when the same bytes give other paragraphs.
FORMAT = 1
_PAGE = re.compile(
    r"[\s\[({<~\u2014-]*(?:p(?:age|g|\.)?\.?\s*)?(?:\d{1,4}|[ivxl]{1,7})[\s\])}>~.\u2014-]*", re.I
)
_INLINE_PAGE = re.compile(r"\[(?:pg|page|p\.)\s*\w{1,6}\]\s?|\{\d{1,4}\}\s?", re.I)
# A running head has so many characters at most, and is there so often at least.
_HEAD, _OFTEN = 60, 3
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
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u00ac\u00ad\u2010]$")
_RULE = re.compile(r"\s*(?:[*\u2022\u00b7.=_~#-]\s*){2,}$")
_ENDED = re.compile(r"[.!?:;\u2014\"'\u201d\u2019)\]]$|--$")
# Characters of a paragraph, about, at most; longer ones, as of a text without empty lines, are divided.
LONGEST_PARAGRAPH = 2 * LONGEST_LINE
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
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
        pages, removed: what was taken out with pages and from paragraphs, and how often; full after
            all paragraphs were read.
        words: of the paragraphs; as many after all were read.
    """

    source: Source
    pages: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    words: int = 0

    def paragraphs(self) -> Iterator[Paragraph]:
        """Yields the paragraphs; to be called once.

        Raises:
            InputError: at the end, where there were none.
        """
        survey = Survey.of(self.source.lines())
        lines = _without_pages(self.source.lines(), survey.heads, self.pages)
        for paragraph in _paragraphs(lines, survey, self.removed):
            self.words += count_words(paragraph.text)
            yield paragraph
        if not self.words:
            raise InputError(
                "there is no text in it", remedy="remove the file, or put a text into it"
            )


@dataclass(frozen=True)
class Survey:
    """What is known of all lines of a text before they are cleaned.

    Attributes:
        heads: shapes of running heads.
        known: how often each word is in the other lines.
        indent: the usual indentation of long lines, in characters.
    """

    heads: frozenset[str]
    known: Counter[str]
    indent: int

    @classmethod
    def of(cls, lines: Iterable[str]) -> Survey:
        """Looks at all lines of a text."""
        heads: set[str] = set()
        # Lines of a shape that is not there often enough so far.
        rare: dict[str, list[str]] = {}
        known: Counter[str] = Counter()
        indents: Counter[int] = Counter()

        def add(line: str) -> None:
            known.update(_WORD.findall(line.casefold()))
            if len(line.strip()) > 30:
                indents[len(line) - len(line.lstrip())] += 1

        for line in lines:
            shape = _shape(line)
            if shape in heads:
                continue
            bare = "" if _is_page(line) else _INLINE_PAGE.sub("", line)
            if not shape:
                add(bare)
                continue
            rare.setdefault(shape, []).append(bare)
            if len(rare[shape]) == _OFTEN:
                heads.add(shape)
                del rare[shape]
        for line in chain.from_iterable(rare.values()):
            add(line)
        return cls(frozenset(heads), known, indents.most_common(1)[0][0] if indents else 0)


def _is_page(line: str) -> bool:
    """Whether a line is the number of a page."""
    return bool(line) and _PAGE.fullmatch(line) is not None and any(c.isalnum() for c in line)


# A line in place of what was between two pages.
_BREAK = "\f"


def _without_pages(lines: Iterable[str], heads: Set[str], removed: Counter[str]) -> Iterator[str]:
    """Yields lines without page numbers and running heads, in whose place is a mark."""
    for line in lines:
        if _is_page(line):
            removed["page numbers"] += 1
            yield _BREAK
        elif _shape(line) in heads:
            removed["running heads"] += 1
            yield _BREAK
        else:
            bare, count = _INLINE_PAGE.subn("", line)
            removed["page numbers"] += count
            yield bare


def _shape(line: str) -> str:
    """What running heads of one kind have in common; empty for other lines."""
    bare = line.strip()
    if not 3 < len(bare) <= _HEAD:
        return ""
    letters = re.sub(r"[^\w ]|\d", "", bare).strip()
    numbered = re.match(r"\d{1,4}\s+\D|.*\D\s\d{1,4}$", bare) is not None
    if len(letters) < 4 or not (letters.isupper() or (numbered and bare[:1] not in "\"'\u201c")):
        return ""
    return letters.casefold()


def _paragraphs(lines: Iterable[str], survey: Survey, removed: Counter[str]) -> Iterator[Paragraph]:
    known = survey.known
    last: Paragraph | None = None
    for block, after_break in _blocks(lines):
        indent = min(len(line) - len(line.lstrip()) for line in block)
        text = _joined([line.strip() for line in block], known, removed)
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
        here = Paragraph(text, indent >= survey.indent + _SET_OFF and not heading, heading)
        if last is not None and after_break and _continues(last, here):
            last = Paragraph(_joined([last.text, here.text], known, removed), last.set_off)
            continue
        if last is not None:
            yield last
        last = here
    if last is not None:
        yield last


def _blocks(lines: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Yields the lines of each paragraph, and whether a page ended before it."""
    block: list[str] = []
    size, broken = 0, False
    for line in chain(lines, [""]):
        inside = line.strip() and not _RULE.fullmatch(line)
        if inside:
            block.append(line)
            size += len(line)
            if size < LONGEST_PARAGRAPH:
                continue
        if block:
            yield block, broken
            block, size, broken = [], 0, False
        broken = broken or line == _BREAK


def _joined(lines: list[str], known: Counter[str], removed: Counter[str]) -> str:
    """Lines as one, without the hyphens of words that are divided between two."""
    text = lines[0]
    for line in lines[1:]:
        if _BROKEN.search(text) and line[:1].islower():
            head = re.findall(r"[^\W\d_]+$", text[:-1])
            tail = re.match(r"[^\W\d_]+", line)
            whole = (head[0] if head else "") + (tail[0] if tail else "")
            parted = f"{head[0] if head else ''}-{tail[0] if tail else ''}"
            # A word that has its hyphen elsewhere keeps it: "well-" and "known".
            keeps = known[parted.casefold()] > known[whole.casefold()]
            removed["hyphens at line ends"] += not keeps
            text = (text if keeps else text[:-1]) + line
        else:
            text = f"{text} {line}"
    return text


def _continues(before: Paragraph, after: Paragraph) -> bool:
    """Whether a paragraph goes on after the end of a page."""
    if before.heading or after.heading or before.set_off != after.set_off:
        return False
    if len(before.text) >= LONGEST_PARAGRAPH:
        return False
    return after.text[:1].islower() and not re.search(r"[.!?]$", before.text)

"""Printed and scanned texts without what the page has added to them.

Removed are page numbers, running heads, footnotes and their marks, citations in brackets, and the
hyphens at the ends of lines. What is left are paragraphs, of which those set off by indentation are
known as such. (RELiC, appendix A, names citations, headers, footers and word breaks.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.plain_text import PlainText

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


@dataclass(frozen=True)
class Scan:
    """A cleaned text.

    Attributes:
        title, author: as its header says; empty where it has none.
        encoding: how its bytes were read.
        paragraphs: in order.
        removed: what was taken out, and how often.
    """

    title: str
    author: str
    encoding: str
    paragraphs: tuple[Paragraph, ...]
    removed: Counter[str] = field(default_factory=Counter)


def read_scan(data: bytes) -> Scan:
    """Cleans the bytes of a printed or scanned text.

    Raises:
        InputError: they are no text, damaged UTF-8, or hold no words.
    """
    refuse_damaged(data)
    text = PlainText.of(data.replace(b"\f", b"\n\n"))
    removed: Counter[str] = Counter()
    lines = [line.rstrip() for line in text.body.split("\n")]
    paragraphs = tuple(_paragraphs(_without_pages(lines, removed), removed))
    if not any(re.search(r"\w", paragraph.text) for paragraph in paragraphs):
        raise InputError("there is no text in it", remedy="remove the file, or put a text into it")
    return Scan(text.title, text.author, text.encoding, paragraphs, removed)


def refuse_damaged(data: bytes) -> None:
    """Refuses text that is UTF-8 but for a few bytes, and text that Windows-1252 does not explain.

    Raises:
        InputError: with the byte and its line.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    try:
        data.decode("utf-8")
        return
    except UnicodeDecodeError as error:
        first = error.start
    kept = len(data.decode("utf-8", errors="ignore").encode())
    wide = len(re.findall(rb"[\xc2-\xf4][\x80-\xbf]+", data))
    bad = len(data) - kept
    if wide > bad:
        raise _damaged(data, first, "UTF-8 but for")
    strange = re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)
    if strange and not _is_eastern(data):
        raise _damaged(data, strange.start(), "neither UTF-8 nor Windows-1252 at")


def _is_eastern(data: bytes) -> bool:
    for name in ("gb18030", "big5"):
        try:
            data.decode(name)
            return True
        except UnicodeDecodeError:
            continue
    return False


def _damaged(data: bytes, at: int, said: str) -> InputError:
    return InputError(
        f"{said} byte 0x{data[at]:02x} at offset {at}",
        line=data.count(b"\n", 0, at) + 1,
        remedy="convert the file to UTF-8, for example with iconv",
    )


# A line in place of what was between two pages.
_BREAK = "\f"


def _without_pages(lines: list[str], removed: Counter[str]) -> list[str]:
    """Lines without page numbers and running heads, in whose place is a mark."""
    shapes = Counter(shape for line in lines if (shape := _shape(line)))
    found = []
    for line in lines:
        if line.strip() and _PAGE.fullmatch(line) and any(c.isalnum() for c in line):
            removed["page numbers"] += 1
            found.append(_BREAK)
        elif shapes[_shape(line)] >= _OFTEN:
            removed["running heads"] += 1
            found.append(_BREAK)
        else:
            bare, count = _INLINE_PAGE.subn("", line)
            removed["page numbers"] += count
            found.append(bare)
    return found


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


def _paragraphs(lines: list[str], removed: Counter[str]) -> Iterator[Paragraph]:
    known = Counter(re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", " ".join(lines).casefold()))
    usual = _usual_indent(lines)
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
        here = Paragraph(text, indent >= usual + _SET_OFF and not heading, heading)
        if last is not None and after_break and _continues(last, here):
            last = Paragraph(_joined([last.text, here.text], known, removed), last.set_off)
            continue
        if last is not None:
            yield last
        last = here
    if last is not None:
        yield last


def _usual_indent(lines: list[str]) -> int:
    indents = Counter(len(line) - len(line.lstrip()) for line in lines if len(line.strip()) > 30)
    return indents.most_common(1)[0][0] if indents else 0


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Yields the lines of each paragraph, and whether a page ended before it."""
    block: list[str] = []
    broken = False
    for line in [*lines, ""]:
        if line.strip() and not _RULE.fullmatch(line):
            block.append(line)
            continue
        if block:
            yield block, broken
            block, broken = [], False
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
    return after.text[:1].islower() and not re.search(r"[.!?]$", before.text)

"""Books as plain text: bytes to text, without a publisher's header, as headings and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from irtoolkit.base.languages import EAST
from irtoolkit.datasets.encodings import encoding_of

# Raised when the same bytes give other headings or paragraphs.
FORMAT = 1
# The lines of Project Gutenberg around the text, in their forms since 1991.
_START = re.compile(r"^\*\*\*\s*START OF (?:THE|THIS) PROJECT GUTENBERG.{0,500}?\*\*\*[ \t]{0,99}$", re.I | re.M | re.S)  # fmt: skip
_OLD_START = re.compile(r"^\*END[ *]*THE SMALL PRINT!.*$", re.I | re.M)
_STOP = re.compile(
    r"^(?:\*\*\*\s*END OF (?:THE|THIS) PROJECT GUTENBERG|End of (?:the |this )?Project Gutenberg).*",
    re.I | re.M,
)
_FIELD = re.compile(r"^[#\s]{0,99}(title|author|language|year)\s*:\s*(.+)$", re.I | re.M)
_CREDIT = re.compile(r"^(?:e-?text )?(?:produced|prepared|transcribed) by\b|^\[?transcriber", re.I)
_LANGUAGES = {"english": "en", "german": "de", "chinese": "zh", "french": "fr", "spanish": "es",
              "italian": "it", "japanese": "ja"}  # fmt: skip
DROPPED = re.compile(
    r"\[Illustration[^\[\]]*(?:\[(?!Illustration)[^\[\]]*){0,50}\]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\ufeff]",
    re.I,
)
_ITALIC = re.compile(r"(?<!\w)_([^_\n]+(?:\n[^_\n]+)?)_(?!\w)")

_NUMBER = r"(?:[IVXLC]+|\d+|[A-Z]?[a-z\u00e4\u00f6\u00fc\u00df]+)"
_PARTS = r"book|part|volume|vol\.|buch|teil|theil|band|livre|tome|libro"
_CHAPTERS = r"chapter|stave|letter|canto|act|scene|kapitel|capitel|chapitre|cap\u00edtulo|capitolo"
_LESSER = (
    r"prologue|epilogue|preface|introduction|conclusion|prolog|epilog|vorwort|vorrede|einleitung"
)
_COUNT = "[0-9\u96f6\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u5eff]+"
_PART = re.compile(rf"(?:the )?(?:(?:{_PARTS})\b|\w+s (?:buch|th?eil)\b)|\u7b2c{_COUNT}[\u5377\u90e8]", re.I)  # fmt: skip
_CHAPTER = re.compile(
    rf"(?:(?:{_CHAPTERS})\b\.?\s+{_NUMBER}|(?:{_LESSER})\b|\w+s (?:kapitel|capitel)\b"
    rf"|[IVXLC]+\s*(?:[.:\u2014-]|$)|\d+\s*[.:]?\s*(?:$|(?=[A-Z]))"
    rf"|\u7b2c?{_COUNT}[\u56de\u7ae0\u8282\u7bc0]|\u6954\u5b50)", re.I,
)  # fmt: skip
# A heading is short: characters of its lines together, and lines.
_HEADING_CHARACTERS, _HEADING_LINES = 120, 3
_PAGE = re.compile(r"[^\W\d_]{2,}[ ,.]+\d{1,3}\.?$")
# Characters in which a publisher's header ends.
_HEAD = 60_000
# A line that is longer is a whole paragraph: nobody wraps lines there.
_WRAPPED = 120


@dataclass(frozen=True)
class Block:
    """A heading or a paragraph.

    Attributes:
        text: on one line.
        level: 0 of a book or part, 1 of a chapter, 2 of a heading without a number, None of a
            paragraph.
    """

    text: str
    level: int | None = None


class Header(NamedTuple):
    """What the beginning of a book's file says of it.

    Attributes:
        begin: where the text begins.
        title, author, lang: as `PlainText` has them.
    """

    begin: int
    title: str
    author: str
    lang: str | None


@dataclass(frozen=True)
class PlainText:
    """The text of a book and what its header says of it.

    Attributes:
        body: the text without header and footer.
        encoding: how the bytes were read.
        title, author: as the header has them; empty where it has none.
        lang: a code such as en; None where the header names no language.
    """

    body: str
    encoding: str
    title: str = ""
    author: str = ""
    lang: str | None = None

    @classmethod
    def of(cls, data: bytes) -> PlainText:
        """Reads the bytes of a book.

        Raises:
            InputError: they are no text.
        """
        text, encoding = decoded(data)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        header = header_of(text)
        body = cleared(text[header.begin : footer_of(text, header.begin + 1)])
        return cls(body, encoding, header.title, header.author, header.lang)

    def blocks(self) -> Iterator[Block]:
        """Yields headings and paragraphs in order; tables of contents and credits are left out."""
        beginning, after = True, False
        for lines in _paragraphs(self.body):
            text = _joined(lines)
            if beginning and (_CREDIT.match(text) or _FIELD.match(lines[0])):
                continue
            level = _level(lines, text, after)
            if _is_contents(lines) or (level is not None and _is_entry(text)):
                continue
            beginning, after = beginning and level is not None, level is not None
            yield Block(text.lstrip("# ").rstrip(), level)


def decoded(data: bytes) -> tuple[str, str]:
    """The text of some bytes, and how they were read.

    Raises:
        InputError: see `encoding_of`.
    """
    encoding = encoding_of(lambda: iter([data]))
    return data.decode(encoding.codec, encoding.errors), encoding.name


def header_of(text: str) -> Header:
    """What the beginning of a text says of it; the first 60,000 characters suffice."""
    start = _START.search(text, 0, _HEAD) or _OLD_START.search(text, 0, _HEAD)
    begin = start.end() if start else 0
    head = text[:begin] if start else text[:2000]
    said = {match[1].lower(): match[2].strip() for match in reversed(list(_FIELD.finditer(head)))}
    named = said.get("language", "").lower().partition(" ")[0].strip(",;")
    return Header(begin, said.get("title", ""), said.get("author", ""), _LANGUAGES.get(named))


def footer_of(text: str, begin: int = 0) -> int | None:
    """Where a publisher's footer begins; None where there is none."""
    found = _STOP.search(text, begin)
    return found.start() if found else None


def cleared(text: str) -> str:
    """A text without captions of pictures, control characters, and marks of italics."""
    return _ITALIC.sub(r"\1", DROPPED.sub("", text))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Yields the lines of each paragraph, without white space around them."""
    for part in re.split(r"\n[ \t\u3000]*\n", text):
        lines: list[str] = []
        for line in part.split("\n"):
            whole = len(line) > _WRAPPED or line.startswith(("\u3000", "#"))
            if whole and lines:
                yield lines
                lines = []
            if line.strip() and set(line.strip()) - set("-*=_~# "):
                lines.append(line.strip())
            if len(line) > _WRAPPED and lines:
                yield lines
                lines = []
        if lines:
            yield lines


def _joined(lines: list[str]) -> str:
    """Lines as one; between two Chinese characters without a space."""
    text = lines[0]
    for line in lines[1:]:
        east = EAST.match(line) or EAST.match(text[-1]) or text[-1] in "\u3002\uff0c\u201d\u300d"
        text += line if east else f" {line}"
    return text


def _is_contents(lines: list[str]) -> bool:
    """Whether a paragraph lists chapters."""
    if len(lines) == 1:
        return re.fullmatch(r"#*\s*(?:table of )?contents\.?|inhalt\w*\.?|\u76ee[\u5f55\u9304]", lines[0], re.I) is not None  # fmt: skip
    headings = sum(1 for line in lines if _CHAPTER.match(line) or _PART.match(line))
    return headings > 2 and headings > len(lines) // 2


def _is_entry(text: str) -> bool:
    """Whether a heading is a line of a table of contents, with the number of a page."""
    return _PAGE.search(text) is not None and len(text.split()) > 3


def _level(lines: list[str], text: str, after_heading: bool) -> int | None:
    """The level of a heading; None of a paragraph."""
    marked = lines[0].startswith("#")
    bare = text.lstrip("# ")
    most = 3 * _HEADING_CHARACTERS if marked else _HEADING_CHARACTERS
    if len(text) > most or len(lines) > _HEADING_LINES:
        return None
    # Prose that only begins like a heading ends as prose does, in small letters: "Part of it was true."
    prose = (
        bare[-1:] in ".,;!?\"'\u201d\u2019" and not marked and not bare.isupper() and len(bare) > 40
    )
    if not prose and _PART.match(bare) and (marked or len(bare.split()) < 12):
        return 0 if marked or bare[0].isupper() or EAST.match(bare) else None
    if _CHAPTER.match(bare) and not prose:
        return 1 if marked or bare[0].isupper() or bare[0].isdigit() or EAST.match(bare) else None
    # A letter may begin in capitals, too: "MY DEAR MR PIP:--
    titled = bare.isupper() and bare[0].isalpha() and bare[-1] not in ":-\u2014"
    if marked or (after_heading and titled and not prose):
        return 2
    return None

"""The lines of a text with their numbers, and the words that are divided between two of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from irtoolkit.base.languages import EAST
from irtoolkit.datasets.editions.pages import BREAK

# Ligatures, and the long s of old print.
_WRITTEN_OUT = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
    "\u017f": "s",
}
LIGATURES = re.compile(f"[{''.join(_WRITTEN_OUT)}]")
# A hyphen at the end of a line, or a character that replaces it in encodings and scans.
_BROKEN = re.compile(r"(?<=[^\W\d_])(?P<mark>[-\u2010\u2011\u00ac\u00ad=\u2022]) ?$")
# Characters that only divide words.
_SURE = "\u00ac\u00ad=\u2022"
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HEAD, _TAIL = re.compile(r"[^\W\d_]+$"), re.compile(r"[^\W\d_]+")
HYPHEN = "hyphen at a line end"


class Line(NamedTuple):
    """A line of a file; a page break is `BREAK`.

    Attributes:
        number: in the file, from 1.
        text: without its end.
        level: of a heading that the line below marks, from 1; else 0.
    """

    number: int
    text: str
    level: int = 0


class Dropped(NamedTuple):
    """A piece of a file that is not text.

    Attributes:
        reason: its kind, for example "page number".
        line: its line in the file, from 1; 0 if the file has no lines.
        text: the dropped text.
        part: the document of an EPUB that it was in.
    """

    reason: str
    line: int
    text: str
    part: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a text that may be a heading.

    Attributes:
        text: on one line.
        lines: without white space around them.
        line: the number of the first one.
        gap: blank lines before it.
        level: of a marked heading, from 1; 0 for other paragraphs, -1 for those marked as something
            else.
    """

    text: str
    lines: tuple[str, ...]
    line: int
    gap: int = 1
    level: int = 0


def written_out(text: str) -> str:
    """Returns a text with its ligatures and long s as plain letters."""
    return LIGATURES.sub(lambda match: _WRITTEN_OUT[match[0]], text)


def numbered(lines: Iterable[str], first: int = 1) -> Iterator[Line]:
    """Yields lines with numbers; a form feed ends a line and a page, other line ends a line."""
    for number, line in enumerate(lines, first):
        if line.strip() == "" and "\f" in line:
            yield Line(number, BREAK)
            continue
        if not _ENDS.search(line):
            yield Line(number, line)
            continue
        for page_number, page in enumerate(line.split("\f")):
            if page_number:
                yield Line(number, BREAK)
            for part in _OTHER_ENDS.split(page):
                yield Line(number, part)


_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OTHER_ENDS = re.compile("[\x0b\x1c-\x1e\x85\u2028\u2029]")


@dataclass
class Joiner:
    """A joiner of lines, and of the words that are divided between two.

    A word that has its hyphen elsewhere in the text keeps it: "well-" and "known".

    Attributes:
        known: frequency of each word of the text, in lower case.
        divides: whether a hyphen at a line end is taken for a division if neither form of the word is
            known, as in scans.
        drop: called with each hyphen that is left out.
    """

    known: Counter[str] = field(default_factory=Counter)
    divides: bool = True
    drop: Callable[[str], None] = lambda mark: None

    def join(self, lines: Sequence[str]) -> str:
        """Returns lines as one; between Chinese characters without a space."""
        parts = [lines[0]]
        for line in lines[1:]:
            before = parts[-1]
            match = _BROKEN.search(before) if line else None
            if match is not None and line[0].islower():
                keeps = self._keeps(before[: match.start()], line, match["mark"])
                parts[-1] = before.rstrip() if keeps else before[: match.start()]
                if not keeps:
                    self.drop(match["mark"])
            elif not (
                _is_eastern(before.rstrip(_QUOTES)[-1:]) or _is_eastern(line.lstrip(_QUOTES)[:1])
            ):
                parts.append(" ")
            parts.append(line)
        return "".join(parts)

    def _keeps(self, before: str, after: str, mark: str) -> bool:
        if mark in _SURE:
            return False
        head, tail = _HEAD.search(before), _TAIL.match(after)
        left_word, right_word = head[0] if head else "", tail[0] if tail else ""
        whole = self.known[f"{left_word}{right_word}".casefold()]
        parted = self.known[f"{left_word}-{right_word}".casefold()]
        return parted > whole or (parted == whole and not self.divides)


_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_EASTERN_MARKS = (
    "\u3001\u3002\uff0c\uff01\uff1f\uff1b\uff1a\u300c\u300d\u300e\u300f\u300a\u300b\uff08\uff09"
)


def _is_eastern(character: str) -> bool:
    """Returns whether a character is Chinese or Japanese, which join without a space."""
    return EAST.match(character) is not None or (character in _EASTERN_MARKS and bool(character))


def joiner_of(lines: Sequence[Line]) -> Joiner:
    """Returns what joins the lines of a whole text; it divides words if most known ones say so."""
    filled = [line.text for line in lines if line.text.strip()]
    broken = [
        (line, after.lstrip())
        for line, after in pairwise(filled)
        if _BROKEN.search(line) and after.lstrip()[:1].islower()
    ]
    if not broken:
        return Joiner(divides=False)
    words: Counter[str] = Counter()
    for line in lines:
        words.update(WORD.findall(line.text.casefold()))
    whole = parted = 0
    for before, after in broken:
        head, tail = _HEAD.search(_BROKEN.sub("", before)), _TAIL.match(after)
        left_word, right_word = head[0] if head else "", tail[0] if tail else ""
        solid, divided = (
            words[f"{left_word}{right_word}".casefold()],
            words[f"{left_word}-{right_word}".casefold()],
        )
        whole += solid > divided
        parted += divided > solid
    # Without known words, many divisions say that lines were divided by a printer.
    many = 50 * len(broken) > len(filled)
    return Joiner(words, whole > parted or (whole == parted and many))

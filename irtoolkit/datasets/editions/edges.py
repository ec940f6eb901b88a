"""Publishers' additions around and between texts: headers, footers, licences, notes.

A file may hold several volumes, each with a header and a footer, or go on after the footer of a
part. A footer therefore reaches only as far as its licence does, and every cut has a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from irtoolkit.datasets.editions.publishers import FIELD, LANGUAGES, kind_of

# Characters in which a publisher's header ends, and in which its fields are without a line that ends it.
HEAD, _FIELDS_HEAD = 60_000, 2000
# Lines of a licence, blank ones left out, from one that has its words to the next, at most.
_GAP = 8
# Characters of a title above a header.
_TITLE = 200
# Lines of a transcriber's note at most.
_NOTES = 400
# Lines at the beginning and at the end in which a library says where a scan is from.
_NEAR_EDGE = 150


class Cut(NamedTuple):
    """Lines that are not text.

    Attributes:
        first, last: the lines, counted from 1, both included.
        begin, end: their position in the text, in characters; `end` is one past the line end.
        reason: their kind.
    """

    first: int
    last: int
    begin: int
    end: int
    reason: str


@dataclass(frozen=True)
class Edges:
    """The publisher's additions to the texts of a file.

    Attributes:
        title, author, lang: from the first header; empty or None if it has none.
        cuts: lines that are not text, in order and without overlap.
    """

    title: str = ""
    author: str = ""
    lang: str | None = None
    cuts: Sequence[Cut] = ()


class _Mark(NamedTuple):
    """Lines that show their kind.

    Attributes:
        kind: "start", "stop", "small start", "small end", "licence", "field", "credit", "note", "library".
        first, last: the lines, counted from 1.
        begin, end: their position, in characters.
        at, to: number of non-blank lines before it, and up to its end.
    """

    kind: str
    first: int
    last: int
    begin: int
    end: int
    at: int
    to: int


def edges_of(lines: Iterable[str]) -> Edges:
    """Returns the publisher's additions around and between the texts of a file.

    Args:
        lines: all lines with their line ends; they are read once, and few are held. A long line may come
            in pieces.
    """
    survey = _Survey()
    for line in lines:
        survey.add(line)
    cuts = _cuts(survey.all_marks(), survey.lines, survey.characters, survey.filled)
    return _with_fields(survey.head, cuts)


def without(pieces: Iterable[str], cuts: Sequence[Cut]) -> Iterator[str]:
    """Yields a text that comes in pieces, without its cuts."""
    place, number = 0, 0
    for piece in pieces:
        end, at = place + len(piece), place
        while number < len(cuts) and cuts[number].begin < end:
            yield piece[at - place : max(at, cuts[number].begin) - place]
            at = max(at, min(end, cuts[number].end))
            if cuts[number].end > end:
                break
            number += 1
        yield piece[at - place :]
        place = end


class _Survey:
    """Collects the marks of a text, line by line.

    Attributes:
        head: the lines of the first `HEAD` characters.
        lines, characters, filled: how many lines, characters, and lines that are not blank there were.
    """

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines = self.characters = self.filled = 0
        self._marks: list[_Mark] = []
        self._growing: _Mark | None = None  # a mark that may go on in the next lines
        self._ends_itself = False  # whether asterisks end the first line of that mark
        self._at_line_end = True
        self._blanks = 0  # blank lines that came last
        self._paragraph = (1, 0, 0)  # where it began: line, characters, filled lines

    def add(self, line: str) -> None:
        """Takes the next line."""
        begin, before = self.characters, self.filled
        self.lines += self._at_line_end
        self._at_line_end = line.endswith("\n")
        self.characters += len(line)
        if begin < HEAD:
            self.head.append(line)
        if not line.strip():
            self._blanks += 1
            self._end_at_blank()
            return
        if self._blanks:
            self._paragraph = (self.lines, begin, before)
        self.filled += 1
        kind = kind_of(line)
        if self._growing is not None and self._extend(line, kind):
            self._blanks = 0
            return
        self._blanks = 0
        self._close()
        if kind:
            self._ends_itself = line.rstrip().endswith("*")
            first = self._paragraph if kind == "library" else (self.lines, begin, before)
            self._growing = _Mark(
                kind, first[0], self.lines, first[1], self.characters, first[2], self.filled
            )

    def all_marks(self) -> list[_Mark]:
        """Returns the marks in order, after the last line."""
        self._close()
        return self._marks

    def _extend(self, line: str, kind: str) -> bool:
        """Lets the growing mark take a line; returns whether it does."""
        mark = self._growing
        assert mark is not None
        count = self.lines - mark.first
        if mark.kind in ("stop", "credit", "library") and count < 12 and not kind.startswith("s"):
            self._grow()
        elif mark.kind == "start" and count <= 3:
            # Its title may go on in the next lines, up to asterisks.
            if not line.rstrip().endswith("***"):
                return not self._ends_itself
            self._grow()
            self._close()
        elif mark.kind == "note" and count < _NOTES and not kind.startswith("s"):
            self._grow()
        else:
            return False
        return True

    def _grow(self) -> None:
        assert self._growing is not None
        self._growing = self._growing._replace(last=self.lines, end=self.characters, to=self.filled)

    def _end_at_blank(self) -> None:
        """Closes a growing mark that a blank line ends; a note goes on up to a larger gap."""
        mark = self._growing
        if mark is not None and (
            mark.kind != "note" or (self._blanks > 1 and mark.to > mark.at + 1)
        ):
            self._close()

    def _close(self) -> None:
        if self._growing is not None:
            self._marks.append(self._growing)
            self._growing = None


def _cuts(marks: Sequence[_Mark], lines: int, characters: int, filled: int) -> list[Cut]:
    """Returns the cuts that marks make, in order and without overlap."""
    found: list[Cut] = []
    for number, mark in enumerate(marks):
        if found and mark.end <= found[-1].end:
            continue
        first, last, reason = mark, mark, ""
        if mark.kind in ("start", "small end"):
            first, reason = _back(marks, number), "header"
        elif mark.kind == "small start":
            end = next((m for m in marks[number:] if m.kind == "small end"), None)
            if end is not None:
                first, last, reason = _back(marks, number), end, "small print"
        elif mark.kind == "stop":
            last, reason = _footer(marks, number), "footer"
            if last is not mark and filled - last.to <= 2:
                last = last._replace(last=lines, end=characters)
        elif mark.kind == "note":
            reason = "note of a transcriber"
        elif mark.kind == "library" and (
            mark.first <= _NEAR_EDGE or mark.last > lines - _NEAR_EDGE
        ):
            reason = "note of a library"
        elif mark.kind == "credit" and mark.first <= _NEAR_EDGE:
            reason = "credits"
        if reason:
            found = [cut for cut in found if cut.begin < first.begin]
            begin = max(first.begin, found[-1].end if found else 0)
            line = max(first.first, found[-1].last + 1 if found else 1)
            found.append(Cut(line, last.last, begin, last.end, reason))
    return found


def _back(marks: Sequence[_Mark], number: int) -> _Mark:
    """Returns the first of the fields and notices that lead up to a mark."""
    first = marks[number]
    for mark in reversed(marks[:number]):
        if first.at - mark.to > _GAP or mark.kind in ("stop", "note", "start", "small end"):
            break
        first = mark
    # Above it there may be the title.
    is_top = marks[number].kind == "start" and first.at <= 2 and first.begin < _TITLE
    return first._replace(first=1, begin=0) if is_top else first


def _footer(marks: Sequence[_Mark], number: int) -> _Mark:
    """Returns the last mark of the licence that follows the end of a text, or of the next header."""
    last = marks[number]
    for mark in marks[number + 1 :]:
        if mark.at - last.to > _GAP or mark.kind == "note":
            break
        last = mark
        if mark.kind in ("start", "small end"):
            break
    return last


def _with_fields(head: Sequence[str], cuts: Sequence[Cut]) -> Edges:
    """Returns the edges with title, author and language from the header or the first lines."""
    header = next((cut for cut in cuts if cut.reason == "header" and cut.end <= HEAD), None)
    if header is not None:
        lines = head[header.first - 1 : header.last]
    else:
        lines = "".join(head)[:_FIELDS_HEAD].split("\n")
    said = {m[1].lower(): m[2].strip() for line in reversed(lines) if (m := FIELD.match(line))}
    named = said.get("language", "").lower().partition(" ")[0].strip(",;")
    return Edges(said.get("title", ""), said.get("author", ""), LANGUAGES.get(named), cuts)

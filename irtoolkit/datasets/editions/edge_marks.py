"""Lines that name their kind: those of headers, footers, licences, credits and notes."""

from __future__ import annotations

from typing import NamedTuple

from irtoolkit.datasets.editions.notices import NoteExtent
from irtoolkit.datasets.editions.publishers import is_credited, kind_of

# Characters in which a publisher's header ends.
HEAD = 60_000


class Mark(NamedTuple):
    """Lines that name their kind.

    Attributes:
        kind: "start", "stop", "small start", "small end", "licence", "field", "credit", "note",
            "library"; "name" of the line that begins a header of Project Gutenberg.
        first, last: the lines, counted from 1.
        begin, end: their offsets in characters.
        at, to: the number of filled lines before it, and up to its end.
    """

    kind: str
    first: int
    last: int
    begin: int
    end: int
    at: int
    to: int


class MarkSurvey:
    """Collects the marks of a text, line by line.

    Attributes:
        head: the lines of the first `HEAD` characters.
        lines, characters, filled: how many lines, characters, and lines that are not blank there were.
    """

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines = self.characters = self.filled = 0
        self._marks: list[Mark] = []
        self._growing: Mark | None = None  # a mark that may go on in the next lines
        self._sure: Mark | None = None  # the part of a growing note that is sure
        self._note = NoteExtent("")
        self._is_credited = False  # whether a growing mark has what credits have
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
            if self._growing is not None and self._growing.kind != "note":
                self._close()
            return
        if self._blanks:
            self._paragraph = (self.lines, begin, before)
        self.filled += 1
        kind = kind_of(line)
        if self._growing is not None and self._extend(line, kind):
            self._blanks = 0
            return
        self._close(is_end=kind in ("stop", "start"))
        self._blanks = 0
        if kind:
            self._begin(line, kind, begin, before)

    def all_marks(self) -> list[Mark]:
        """Returns the marks in order, after the last line."""
        self._close(is_end=True)
        return self._marks

    def _begin(self, line: str, kind: str, begin: int, before: int) -> None:
        """Begins a mark, which may go on in the next lines."""
        self._ends_itself = line.rstrip().endswith("*")
        self._is_credited = is_credited(line)
        first = self._paragraph if kind == "library" else (self.lines, begin, before)
        self._growing = Mark(
            kind, first[0], self.lines, first[1], self.characters, first[2], self.filled
        )
        if kind == "note":
            self._note, self._sure = NoteExtent(line), self._growing

    def _extend(self, line: str, kind: str) -> bool:
        """Lets the growing mark take a line; returns whether it does."""
        mark = self._growing
        assert mark is not None
        count = self.lines - mark.first
        paragraphs = ("stop", "credit", "library", "name")
        if mark.kind in paragraphs and count < 12 and not kind.startswith("s"):
            self._is_credited = self._is_credited or is_credited(line)
            self._grow()
        elif mark.kind == "start" and count <= 3:
            # Its title may go on in the next lines, up to asterisks.
            if not line.rstrip().endswith("***"):
                return not self._ends_itself
            self._grow()
            self._close()
        elif mark.kind == "note" and not kind.startswith("s"):
            if not self._note.takes(line, self._blanks):
                return False
            self._grow()
            self._sure = self._growing if self._note.is_sure else self._sure
        else:
            return False
        return True

    def _grow(self) -> None:
        assert self._growing is not None
        self._growing = self._growing._replace(last=self.lines, end=self.characters, to=self.filled)

    def _close(self, is_end: bool = False) -> None:
        """Ends the growing mark, if there is one.

        Args:
            is_end: whether the text ends here.
        """
        mark = self._growing
        self._growing = None
        if mark is None:
            return
        if mark.kind == "note":
            is_last = is_end and 2 * mark.first > self.lines
            mark = mark if self._note.is_whole(self._blanks, is_last) else self._sure
        elif mark.kind == "credit" and not (self._is_credited or self._follows_header(mark)):
            return
        if mark is not None:
            self._marks.append(mark)

    def _follows_header(self, mark: Mark) -> bool:
        """Returns whether nothing is between a mark and a header before it."""
        last = self._marks[-1] if self._marks else None
        return last is not None and last.to == mark.at and last.kind in _HEADERS


# Marks that end a header.
_HEADERS = ("start", "small end", "field", "name")

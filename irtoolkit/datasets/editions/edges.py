"""Publishers' additions around and between texts: headers, footers, licences, notes.

A file may hold several volumes, each with a header and a footer, or go on after the footer of a
part. A footer therefore reaches only as far as its licence does, and every cut has a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from irtoolkit.datasets.editions.edge_marks import HEAD, Mark, MarkSurvey
from irtoolkit.datasets.editions.publishers import FIELD, LANGUAGES, NOTE, is_field

# Characters in which the fields of a header are, without a line that ends it.
_FIELDS_HEAD = 2000
# Lines of a licence, blank ones left out, from one that has its words to the next, at most.
_GAP = 8
# Characters of a title above a header.
_TITLE = 200
# The number of lines at either end in which a library names the origin of a scan.
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


def edges_of(lines: Iterable[str]) -> Edges:
    """Returns the publisher's additions around and between the texts of a file.

    Args:
        lines: all lines with their line ends; they are read once, and few are held. A long line may come
            in pieces.
    """
    survey = MarkSurvey()
    for line in lines:
        survey.add(line)
    cuts = _cuts(survey.all_marks(), survey.lines, survey.characters, survey.filled)
    return _with_fields(survey.head, cuts)


def without(pieces: Iterable[str], cuts: Sequence[Cut]) -> Iterator[str]:
    """Yields a text that comes in pieces, without its cuts."""
    position, number = 0, 0
    for piece in pieces:
        end, begin = position + len(piece), position
        while number < len(cuts) and cuts[number].begin < end:
            yield piece[begin - position : max(begin, cuts[number].begin) - position]
            begin = max(begin, min(end, cuts[number].end))
            if cuts[number].end > end:
                break
            number += 1
        yield piece[begin - position :]
        position = end


def _cuts(marks: Sequence[Mark], lines: int, characters: int, filled: int) -> list[Cut]:
    """Returns the cuts that marks make, in order; none overlaps another."""
    cuts: list[Cut] = []
    for number, mark in enumerate(marks):
        if cuts and mark.end <= cuts[-1].end:
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
            reason = NOTE
        elif mark.kind == "library" and (
            mark.first <= _NEAR_EDGE or mark.last > lines - _NEAR_EDGE
        ):
            reason = "note of a library"
        elif mark.kind == "credit" and mark.first <= _NEAR_EDGE:
            reason = "credits"
        elif mark.kind == "name" and not mark.at:
            reason = "header"
        if reason:
            cuts = [cut for cut in cuts if cut.begin < first.begin]
            begin = max(first.begin, cuts[-1].end if cuts else 0)
            line = max(first.first, cuts[-1].last + 1 if cuts else 1)
            cuts.append(Cut(line, last.last, begin, last.end, reason))
    return cuts


def _back(marks: Sequence[Mark], number: int) -> Mark:
    """Returns where the fields and notices begin that lead up to a mark."""
    first = marks[number]
    for mark in reversed(marks[:number]):
        if first.at - mark.to > _GAP or mark.kind in ("stop", "note", "start", "small end"):
            break
        first = mark
    # Above it there may be the title.
    is_top = marks[number].kind == "start" and first.at <= 2 and first.begin < _TITLE
    return first._replace(first=1, begin=0) if is_top else first


def _footer(marks: Sequence[Mark], number: int) -> Mark:
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
    fields = {
        match[1].lower(): match[2].strip()
        for line, after in reversed([*pairwise([*lines, ""])])
        if (match := FIELD.match(line)) and (header is not None or is_field(line, after))
    }
    named = fields.get("language", "").lower().partition(" ")[0].strip(",;")
    return Edges(fields.get("title", ""), fields.get("author", ""), LANGUAGES.get(named), cuts)

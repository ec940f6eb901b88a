"""A work of criticism in portions with margins on both sides, so that memory does not grow with it.

A quotation is found as in the whole work: what decides on it, and the sentences around it, are
within the margins. No portion ends inside a quotation, except one that is longer than two portions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from irtoolkit.building.relic.marks import Document
from irtoolkit.building.relic.quotations import Quotation
from irtoolkit.building.relic.scans import Paragraph

# Characters of a portion, and of each of its margins.
SIZE, MARGIN = 2_000_000, 100_000


@dataclass(frozen=True)
class Portion:
    """A part of a work, with margins before and after it.

    Attributes:
        document: its paragraphs and those of the margins.
        offset: position of the document in the work, in characters.
        quotations: those that begin in the part itself.
    """

    document: Document
    offset: int
    quotations: Sequence[Quotation]


def portions(
    paragraphs: Iterable[Paragraph],
    find: Callable[[Document], Sequence[Quotation]],
    size: int = SIZE,
    margin: int = MARGIN,
) -> Iterator[Portion]:
    """Yields a work in portions with their quotations.

    Args:
        paragraphs: of the work, in order.
        find: finds the quotations of a document, in order; none overlaps another.
        size, margin: in characters.
    """
    stream = iter(paragraphs)
    pending: list[Paragraph] = []
    offset = done = 0
    while True:
        more, ended = _taken(stream, size + margin)
        pending += more
        document = Document.of(pending)
        quotations = find(document)
        cut = len(pending) if ended else _cut(document, quotations, done, size, margin)
        end = document.begins[cut] if cut < len(pending) else len(document.text)
        inside = [quotation for quotation in quotations if done <= quotation.begin < end]
        yield Portion(document, offset, inside)
        if ended:
            return
        crossed = any(quotation.end > end for quotation in inside)
        # After a quotation that was cut, its rest begins the next portion.
        first = cut if crossed else max(0, bisect_right(document.begins, end - margin) - 1)
        pending, start = pending[first:], document.begins[first]
        offset, done = offset + start, end - start


def _taken(stream: Iterator[Paragraph], size: int) -> tuple[list[Paragraph], bool]:
    """Returns paragraphs of about so many characters, and whether these are the last."""
    paragraphs, count = [], 0
    for paragraph in stream:
        paragraphs.append(paragraph)
        count += len(paragraph.text)
        if count >= size:
            return paragraphs, False
    return paragraphs, True


def _cut(
    document: Document, quotations: Sequence[Quotation], done: int, size: int, margin: int
) -> int:
    """Returns the number of the paragraph that the next portion begins with.

    It is the last one before the margin that begins inside no quotation. If there is none, the
    portion grows, up to twice its size.
    """
    begins = [quotation.begin for quotation in quotations]
    latest = bisect_right(document.begins, len(document.text) - margin) - 1
    for number in range(latest, 0, -1):
        begin = document.begins[number]
        if begin <= done:
            break
        before = bisect_left(begins, begin) - 1
        if before < 0 or quotations[before].end <= begin:
            return number
    if len(document.text) - done > 2 * (size + margin) and document.begins[latest] > done:
        return latest
    return bisect_left(document.begins, done)

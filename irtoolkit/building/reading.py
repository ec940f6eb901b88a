"""The lines of a text file, read in blocks: no more than a block is in memory, however large the file.

The lines are those of the text: without publishers' headers and footers, captions of pictures, and marks
of italics.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from irtoolkit.building.shelves import PIECE
from irtoolkit.datasets.editions.edges import Edges, edges_of, without
from irtoolkit.datasets.editions.lines import written_out
from irtoolkit.datasets.editions.pages import BREAK
from irtoolkit.datasets.editions.plain import DROPPED, cleared
from irtoolkit.datasets.encodings import check_encoding, encoding_of

# Characters of a block; of a line at most, longer ones are divided; and that a publisher's header, or
# the caption of a picture, has at most.
BLOCK, LONGEST_LINE, _AHEAD = 1_000_000, 500_000, 65_536
# Lines without a mark of italics, before another: italics may go on in the next line.
_PLAIN = re.compile(r"^[^_\n]*\n(?=[^_\n]*$)", re.M)
_CAPTION = re.compile(r"\[Illustration", re.I)


@dataclass(frozen=True)
class Source:
    """A text file that is read as often as needed.

    Attributes:
        opened: opens it.
        codec, errors: how it is decoded.
        encoding: the name of its encoding.
        edges: the publishers' additions to the text.
        size: characters of a block.
    """

    opened: Callable[[], BinaryIO]
    codec: str
    errors: str
    encoding: str
    edges: Edges
    size: int

    @classmethod
    def of(cls, opened: Callable[[], BinaryIO], size: int = BLOCK) -> Source:
        """Returns the file that `opened` opens.

        Raises:
            InputError: no text, or damaged.
        """

        def pieces() -> Iterator[bytes]:
            with opened() as raw:
                while piece := raw.read(PIECE):
                    yield piece

        check_encoding(pieces)
        codec, errors, name = encoding_of(pieces)
        with opened() as raw, io.TextIOWrapper(raw, codec, errors) as text:
            edges = edges_of(iter(lambda: text.readline(LONGEST_LINE), ""))
        return cls(opened, codec, errors, name, edges, size)

    def lines(self) -> Iterator[str]:
        """Yields the lines, without white space at their ends."""
        rest = ""
        for block in self._blocks():
            *lines, rest = f"{rest}{cleared(block)}".split("\n")
            for line in lines:
                yield from _bounded(line)
            if len(rest) > LONGEST_LINE:
                yield from _bounded(rest)
                rest = ""
        yield from _bounded(rest)

    def _blocks(self) -> Iterator[str]:
        """Yields the text without publishers' additions, in blocks."""
        ahead = min(self.size, _AHEAD)  # so that a caption that goes on beyond a block is seen
        pending = ""
        with self.opened() as raw:
            # The ends of lines are line feeds.
            text = io.TextIOWrapper(raw, self.codec, self.errors)
            texts = iter(lambda: text.read(max(self.size, _AHEAD)), "")
            for more in without(texts, self.edges.cuts):
                # A page break is on a line of its own.
                pending += written_out(more).replace("\f", f"\n{BREAK}\n")
                while len(pending) > self.size + ahead:
                    cut = border(pending, self.size)
                    yield pending[:cut]
                    pending = pending[cut:]
            yield pending


def border(text: str, near: int) -> int:
    """Returns where a text can be divided, at or before `near`, with the same result of cleaning.

    It is between two lines, outside captions and italics; in a text of one line, after a space.
    """
    begin = max(0, near - _AHEAD)
    cuts = [match.end() for match in _PLAIN.finditer(text, begin, near)]
    captions = [match.start() for match in _CAPTION.finditer(text, begin, near)]
    if cuts and captions:
        caption = DROPPED.match(text, captions[-1])
        if caption is not None and caption.end() > cuts[-1]:
            cuts = [cut for cut in cuts if cut <= captions[-1]]
    return (
        cuts[-1] if cuts else max(text.rfind("\n", 0, near), text.rfind(" ", 0, near)) + 1 or near
    )


def _bounded(line: str) -> Iterator[str]:
    """Yields a line in parts of at most `LONGEST_LINE` characters."""
    while len(line) > LONGEST_LINE:
        cut = line.rfind(" ", 0, LONGEST_LINE) + 1 or LONGEST_LINE
        yield line[:cut].rstrip()
        line = line[cut:]
    yield line if line == BREAK else line.rstrip()

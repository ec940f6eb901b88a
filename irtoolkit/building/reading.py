"""The lines of a text file, read in blocks: no more than a block is in memory, however large the file.

The lines are those that `PlainText` has of the whole file: without a publisher's header and footer,
captions of pictures, and marks of italics.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from irtoolkit.building.shelves import PIECE
from irtoolkit.datasets.encodings import encoding_of, refuse_damaged
from irtoolkit.datasets.plain_text import DROPPED, Header, cleared, footer_of, header_of

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
        header: what its beginning says of it.
        size: characters of a block.
    """

    opened: Callable[[], BinaryIO]
    codec: str
    errors: str
    encoding: str
    header: Header
    size: int

    @classmethod
    def of(cls, opened: Callable[[], BinaryIO], size: int = BLOCK) -> Source:
        """A file; `opened` opens it.

        Raises:
            InputError: no text, or damaged.
        """

        def pieces() -> Iterator[bytes]:
            with opened() as raw:
                while piece := raw.read(PIECE):
                    yield piece

        refuse_damaged(pieces)
        codec, errors, name = encoding_of(pieces)
        with opened() as raw:
            head = next(_texts(raw, codec, errors, _AHEAD), "")
        return cls(opened, codec, errors, name, header_of(head), size)

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
        """Yields what is between header and footer."""
        ahead = min(self.size, _AHEAD)  # so that a caption that goes on beyond a block is seen
        with self.opened() as raw:
            texts = _texts(raw, self.codec, self.errors, max(self.size, _AHEAD))
            held = next(texts, "")[self.header.begin :]
            first = 1  # a footer begins after the header's last line
            for more in texts:
                held += more
                while len(held) > self.size + ahead:
                    cut = border(held, self.size)
                    stop = footer_of(held[:cut], first)
                    yield held[: cut if stop is None else stop]
                    if stop is not None:
                        return
                    held, first = held[cut:], 0
            yield held[: footer_of(held, first)]


def border(text: str, near: int) -> int:
    """Where a text can be divided, at or before `near`, so that each part is cleared as in the whole.

    It is between two lines, inside no caption and no italics; in a text of one line, after a space.
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


def _texts(raw: BinaryIO, codec: str, errors: str, size: int) -> Iterator[str]:
    """Yields the text of a file; the ends of lines and pages are line feeds."""
    with io.TextIOWrapper(raw, codec, errors) as text:
        while piece := text.read(size):
            yield piece.replace("\f", "\n\n")


def _bounded(line: str) -> Iterator[str]:
    """Yields a line in parts of at most `LONGEST_LINE` characters."""
    while len(line) > LONGEST_LINE:
        cut = line.rfind(" ", 0, LONGEST_LINE) + 1 or LONGEST_LINE
        yield line[:cut].rstrip()
        line = line[cut:]
    yield line.rstrip()

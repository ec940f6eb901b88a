"""The text of an edition: headings, paragraphs, notes, and dropped pieces with reason and line.

Nothing is lost: each character except white space is in a heading, a paragraph, a note or a dropped
piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from irtoolkit.datasets.editions.lines import Dropped
from irtoolkit.datasets.encodings import encoding_of

# Raised when the same bytes give other headings or paragraphs.
FORMAT = 3


@dataclass(frozen=True)
class Block:
    """A heading, a paragraph or a note.

    Attributes:
        text: on one line.
        level: of a heading: 0 for a book or part, 1 for a chapter, 2 without a number; otherwise None.
        line: its first line in the file, from 1.
        is_note: whether it is a note apart from the text.
    """

    text: str
    level: int | None = None
    line: int = 0
    is_note: bool = False


@dataclass(frozen=True)
class Edition:
    """The text of a book's file and the fields of its header.

    Attributes:
        blocks: in order.
        encoding: the name of the encoding of the bytes.
        title, author: from the header, or the title of a web page; empty if it has none.
        lang: a code, for example en; None if the file names no language.
        dropped: the pieces that are not text, in the order of their removal.
        characters: of the file, without white space.
    """

    blocks: Sequence[Block]
    encoding: str = "utf-8"
    title: str = ""
    author: str = ""
    lang: str | None = None
    dropped: Sequence[Dropped] = field(default=())
    characters: int = 0

    def text_blocks(self) -> Iterator[Block]:
        """Yields headings and paragraphs, without notes."""
        return (block for block in self.blocks if not block.is_note)

    @property
    def notes(self) -> list[Block]:
        """Its notes, in order."""
        return [block for block in self.blocks if block.is_note]


def as_plain_text(edition: Edition) -> str:
    """Returns an edition as plain text: its fields, headings and paragraphs, without notes."""
    fields = {"Title": edition.title, "Author": edition.author}
    head = [f"{name}: {value}" for name, value in fields.items() if value]
    body = [block.text for block in edition.text_blocks()]
    return "\n\n".join(["\n".join(head), *body]).lstrip("\n") + "\n"


def count_characters(text: str) -> int:
    """Returns the characters of a text except white space."""
    return len(text) - sum(map(len, _SPACES.findall(text)))


_SPACES = re.compile(r"\s+")


def reasons(dropped: Sequence[Dropped]) -> dict[str, tuple[int, int]]:
    """Returns the number of dropped pieces and characters by reason, most characters first."""
    pieces: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for piece in dropped:
        pieces[piece.reason] += 1
        characters[piece.reason] += count_characters(piece.text)
    return {reason: (pieces[reason], count) for reason, count in characters.most_common()}


def decoded(data: bytes) -> tuple[str, str]:
    """Returns the text of some bytes, and how they were read.

    Raises:
        InputError: see `encoding_of`.
    """
    encoding = encoding_of(lambda: iter([data]))
    return data.decode(encoding.codec, encoding.errors), encoding.name

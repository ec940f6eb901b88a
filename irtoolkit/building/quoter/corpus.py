"""The texts of a corpus, read in pieces, so that memory does not grow with them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import errors_in
from irtoolkit.building.quoter.letters import Letters
from irtoolkit.building.reading import Source
from irtoolkit.building.shelves import TextFile
from irtoolkit.datasets.editions.edges import Cut, Edges

# Raised when the same bytes give other pieces.
FORMAT = 2
# Characters that are read at once.
PIECE = 1 << 20
# What an edition puts into the text: marks of pages, footnotes and pictures, and lines of a number alone.
_MARK = re.compile(
    r"[\[{](?:(?:(?:pg|page|p\.)\s*\w{1,6}|\d{1,3}(?:-\d{1,3})?|Illustration[^\[\]]{0,500})\]"
    r"|(?<=\{)\d{1,4}\}|(?<=[\w.,;:!?\"'\u201d\u2019]\[)[A-Z*]\](?!\w))",
    re.I,
)
_NUMBER = re.compile(r"\n[ \t]*[\[(-]?[ \t]*\d{1,4}[ \t]*[\])-]?[ \t]*(?=\n)")
# It is put in the place of each of their characters; no text holds it.
FILL = "\0"


@dataclass(frozen=True)
class Text:
    """A file of the corpus before it is searched.

    Attributes:
        file: the file.
        sha: a hash of its bytes.
        codec, errors: how it is decoded.
        encoding: the name of the encoding.
        header: the publishers' additions to the text.
    """

    file: TextFile
    sha: str
    codec: str
    errors: str
    encoding: str
    header: Edges


def look_at(file: TextFile) -> Text:
    """Reads a file, block by block, to see whether it is text and in which encoding.

    Raises:
        InputError: it cannot be read, is empty, no text, or damaged.
    """
    sha = file.digest()
    with errors_in(file.path):
        source = Source.of(file.opened)
    return Text(file, sha, source.codec, source.errors, source.encoding, source.edges)


@dataclass(frozen=True)
class Piece:
    """A part of a text.

    Attributes:
        text: the part, with as much text before and after it as contexts may need.
        letters: of `text`.
        offset: position of `text` in the whole.
        done, safe: occurrences that end in `text` after `done` and not after `safe` belong to this
            piece.
    """

    text: str
    letters: Letters
    offset: int
    done: int
    safe: int


def pieces(text: Text, longest: int, around: int, size: int = PIECE) -> Iterator[Piece]:
    """Yields the pieces of a text in order.

    Args:
        text: the text.
        longest: letters of the longest thing that is looked for.
        around: characters of its surroundings that are needed.
        size: characters that are read at once.
    """
    pending, offset, done = "", 0, 0
    with io.TextIOWrapper(text.file.opened(), text.codec, text.errors) as source:
        while True:
            new = source.read(size)
            pending += _without_publishers(new, offset + len(pending), text.header.cuts)
            final = len(new) < size
            pending = _NUMBER.sub(_filled, _MARK.sub(_filled, pending))
            letters = Letters.of(pending)
            safe = len(pending) if final else max(done - offset, len(pending) - around)
            yield Piece(pending, letters, offset, done - offset, safe)
            if final:
                return
            keep = _needed(letters, safe, longest, around)
            keep = max(keep, len(pending) - max(8 * size, 4 * around))
            done = offset + safe
            offset, pending = offset + keep, pending[keep:]


def _without_publishers(new: str, begin: int, cuts: Sequence[Cut]) -> str:
    """Returns a part of a text that begins at a place, with publishers' lines filled."""
    end, parts, position = begin + len(new), [], 0
    for cut in cuts:
        first, last = max(cut.begin, begin) - begin, min(cut.end, end) - begin
        if first < last:
            parts += [new[position:first], FILL * (last - first)]
            position = last
    return "".join([*parts, new[position:]])


def _filled(match: re.Match[str]) -> str:
    # The line end stays, so that a paragraph does.
    return "\n" * match[0].startswith("\n") + FILL * (len(match[0].lstrip("\n")))


def _needed(letters: Letters, safe: int, longest: int, around: int) -> int:
    """Returns the position from which a text is needed for occurrences that end after a place."""
    first = int(np.searchsorted(letters.at, safe)) - longest
    begin = int(letters.at[max(0, first)]) if len(letters) else safe
    return max(0, min(begin, safe) - around)

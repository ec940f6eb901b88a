"""Ids of passages of a book: `emma:120+3` is three sentences from the 121st on.

The id alone gives the position of the passage, so a TREC run and qrels with no side file are enough
to compute distances in the book.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints

# No book has a thousand million sentences.
_SPAN = re.compile(r"(?P<book>.+):(?P<start>[0-9]{1,9})\+(?P<length>[1-9][0-9]{0,8})", re.DOTALL)


@dataclass(frozen=True, order=True)
class Span:
    """Consecutive sentences of a book.

    Attributes:
        book: its name.
        start: 0-based index of the first sentence.
        length: number of sentences, at least 1.
    """

    book: str
    start: int
    length: int

    def __str__(self) -> str:
        return f"{self.book}:{self.start}+{self.length}"

    @property
    def stop(self) -> int:
        """The index after the last sentence."""
        return self.start + self.length

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the span an id names.

        Raises:
            InputError: the id is not of the form book:start+length.
        """
        match = _SPAN.fullmatch(text)
        if match is None:
            raise InputError(
                f"document id {text!r} has no position in a book",
                remedy="passages are named book:start+length, such as emma:120+3",
            )
        return cls(match[1], int(match[2]), int(match[3]))


def positions(ids: Ids) -> tuple[Ints, Ints]:
    """Returns the positions of passages.

    Args:
        ids: (D,) span ids.

    Returns:
        (D,) book numbers, equal for equal books, and (D,) twice the mean index of the passage's
        sentences, which is a whole number: 2·start + length - 1.

    Raises:
        InputError: an id that is not a span.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from irtoolkit.base import arrow

    parts = pc.extract_regex(arrow.texts(ids), f"(?s)^{_SPAN.pattern}$")
    if parts.null_count:
        for name in ids:
            Span.parse(name)
    book, start, length = parts.flatten()
    codes = arrow.to_numpy(book.dictionary_encode().indices).astype(np.int64)
    starts, lengths = (arrow.to_numpy(part.cast(pa.int64())) for part in (start, length))
    return codes, 2 * starts + lengths - 1

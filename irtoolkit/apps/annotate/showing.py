"""An annotator's view of a query or a document: its texts, and nothing that gives an answer away.

Ids are not shown, since those of some datasets name the relevant document; nor are years, sources
and other metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Fields of records that are texts, in the order they are read. Others are metadata.
_FIELDS = (
    "facet",
    "title",
    "headline",
    "question",
    "text",
    "abstract",
    "body",
    "contents",
    "description",
    "narrative",
)
_HEADINGS = ("title", "headline")
_MARKS = Literal["", "strong", "gap"]


@dataclass(frozen=True)
class Piece:
    """A stretch of text.

    `mark` is "strong" for the topic of the query, "gap" for an omitted text.
    """

    text: str
    mark: _MARKS = ""


@dataclass(frozen=True)
class Part:
    """A field of a record.

    Attributes:
        name: of the field.
        heading: whether it is a title.
        pieces: its text.
    """

    name: str
    heading: bool
    pieces: tuple[Piece, ...]


def parts(record: Any) -> list[Part]:
    """Returns the texts of a record of a query or a document, in the order they are read."""
    fields = [
        Part(name, name in _HEADINGS, (Piece(value),))
        for name in _FIELDS
        if isinstance(value := getattr(record, name, None), str) and value.strip()
    ]
    # `context` and `abstract` of our own records are made of these.
    if isinstance(getattr(record, "sentences", None), tuple) and not hasattr(record, "text"):
        fields = [part for part in fields if part.name != "abstract"]
        fields.append(Part("abstract", False, _sentences(record)))
    if hasattr(record, "left") and hasattr(record, "right"):
        fields.append(Part("context", False, _context(record)))
    if not any(not part.heading and part.name != "facet" for part in fields):
        fields = [Part("text", False, (Piece(record.default_text()),))]
    return fields


def _sentences(record: Any) -> tuple[Piece, ...]:
    """Returns an abstract in which the sentences of the query's facet are strong."""
    facet_sentences = set(getattr(record, "facet_sentences", ()))
    pieces = []
    for number, sentence in enumerate(record.sentences):
        space = " " if number + 1 < len(record.sentences) else ""
        pieces.append(Piece(sentence + space, "strong" if sentence in facet_sentences else ""))
    return tuple(pieces)


def _context(record: Any) -> tuple[Piece, ...]:
    """Returns a text with a gap, which the document that is sought fills."""
    return (Piece(_joined(record.left)), Piece("", "gap"), Piece(_joined(record.right)))


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)

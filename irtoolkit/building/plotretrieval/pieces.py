"""A piece of the work: some comments on one book, filtered, judged, aligned and decided on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.jsons import write_json
from irtoolkit.building.plotretrieval import alignment, filters, plots
from irtoolkit.building.plotretrieval.alignment import (
    DROP,
    BookScores,
    Passage,
    Reach,
    Thresholds,
    decide,
    passage_of,
    score_of,
    window_of,
)
from irtoolkit.building.plotretrieval.comments import Comment
from irtoolkit.building.plotretrieval.filters import Filter
from irtoolkit.building.plotretrieval.plots import Judge, names_of
from irtoolkit.building.relic.books import sentences_of
from irtoolkit.building.relic.marks import Document
from irtoolkit.building.relic.quotations import Matching, quotations
from irtoolkit.building.relic.scans import Paragraph
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.shelves import digest
from irtoolkit.retrievers.base import Retriever

# Comments in a piece: what a kill may cost.
PIECE = 256
# A marked passage is found with fewer words than a quotation that somebody may have written himself.
_MARKED = Matching(words=4, unmarked=4, ratio=80.0)


@dataclass(frozen=True)
class Steps:
    """The steps of processing a comment.

    Attributes:
        judge: decides whether it describes a plot.
        retriever: compares it with the sentences of its book.
        filter: leaves it out before or after.
        reach: the limits of the search for its passage.
        thresholds: for decisions without a reader.
    """

    judge: Judge
    retriever: Retriever
    thresholds: Thresholds
    filter: Filter = field(default_factory=Filter)
    reach: Reach = field(default_factory=Reach)

    @property
    def key(self) -> str:
        """A hash of all that decides the result."""
        formats = f"{filters.FORMAT}.{plots.FORMAT}.{alignment.FORMAT}"
        settings = {k: v for k, v in self.retriever.settings().items() if k not in _MOVES_NOTHING}
        parts = (self.filter, self.reach, self.thresholds, self.retriever.name, settings)
        files = self.retriever.fingerprint() or ""
        return digest(formats, self.judge.key, files, *map(repr, parts))


_MOVES_NOTHING = ("device", "batch_tokens")


@dataclass(frozen=True)
class Block:
    """Comments of one piece, all on one book."""

    book: str
    comments: tuple[Comment, ...]


def blocks_of(comments: Sequence[Comment]) -> list[Block]:
    """Returns the comments in pieces, book by book, in their order."""
    by_book: dict[str, list[Comment]] = {}
    for comment in comments:
        by_book.setdefault(comment.book, []).append(comment)
    return [
        Block(book, tuple(comments_of_book[start : start + PIECE]))
        for book, comments_of_book in sorted(by_book.items())
        for start in range(0, len(comments_of_book), PIECE)
    ]


@dataclass
class Piecework:
    """A callable for workers that does a piece of the work and writes it to a file.

    Attributes:
        folder: the folder of the files of all pieces.
        books: the books by name.
        langs: their languages.
        steps: the processing of each comment.
        key: a hash of the books and all settings.
    """

    folder: Path
    books: Mapping[str, ShelvedBook]
    langs: Mapping[str, str | None]
    steps: Steps
    key: str
    _open: Any = None

    def path(self, block: Block) -> Path:
        """Returns the file of a piece."""
        content = digest(self.key, *(comment.id for comment in block.comments))
        return self.folder / f"{block.book}-{content[:16]}.json"

    def __call__(self, block: Block) -> bool:
        """Writes the file of a piece unless it exists; returns whether it was written."""
        path = self.path(block)
        if path.exists():
            return False
        write_json(path, self._records(block), indent=0)
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_open": None}  # workers open the books that they need

    def _book(self, name: str) -> tuple[list[str], frozenset[str], BookScores]:
        """Returns the sentences of a book, its names, and their scorer against comments."""
        if self._open is None or self._open[0] != name:
            sentences = sentences_of(self.books[name])
            scores = BookScores(self.steps.retriever, sentences, self.langs[name])
            self._open = name, (sentences, names_of(sentences), scores)
        opened: tuple[list[str], frozenset[str], BookScores] = self._open[1]
        return opened

    def _records(self, block: Block) -> list[dict[str, Any]]:
        """Returns the record of each comment, in order."""
        book, lang, steps = self.books[block.book], self.langs[block.book], self.steps
        sentences, names, compare = self._book(block.book)
        plot = steps.judge([comment.text for comment in block.comments], names)
        records: list[dict[str, Any]] = []
        rest: list[tuple[int, tuple[int, int] | None]] = []
        for number, comment in enumerate(block.comments):
            reason, span = steps.filter.before(comment.text, book, lang), comment.span
            if not reason and plot[number] < steps.thresholds.doubt:
                reason = "not about the plot"
            if not reason and comment.marked:
                span = _marked(comment, book)
                reason = "" if span else "a marked passage that is not in the book"
            records.append({"id": comment.id, "plot": plot[number], "left_out": reason})
            if not reason:
                rest.append((number, span))
        if rest:
            scores = compare.of([block.comments[number].text for number, _ in rest])
            for (number, span), row in zip(rest, scores, strict=True):
                comment = block.comments[number]
                if span:
                    score = score_of(row, *span)
                else:
                    near = window_of(comment.near, comment.share, len(sentences), steps.reach)
                    score = passage_of(row, near, steps.reach)
                records[number] |= self._decided(comment, score, plot[number], sentences)
        return records

    def _decided(
        self, comment: Comment, passage: Passage, plot: float, sentences: Sequence[str]
    ) -> dict[str, Any]:
        """Returns a comment with its passage and the decision on the two."""
        lang = self.langs[comment.book]
        text = sentences[passage.start : passage.stop]
        reason, shared = self.steps.filter.after(comment.text, text, lang)
        decision = decide(passage, plot, comment.is_exact, self.steps.thresholds)
        if not reason and decision == DROP:
            reason = "no passage is near enough"
        return {
            **asdict(passage),
            "overlap": round(shared, 4),
            "decision": decision,
            "left_out": reason,
        }


def _marked(comment: Comment, book: ShelvedBook) -> tuple[int, int] | None:
    """Returns the location of a marked passage in its book."""
    matches = quotations(Document.of([Paragraph(comment.marked, set_off=True)]), [book], _MARKED)
    if not matches:
        return None
    longest = max(matches, key=lambda quotation: quotation.words)
    return longest.start, longest.start + longest.length


def read_piece(path: Path) -> list[dict[str, Any]]:
    """Returns the records of a piece.

    Raises:
        InputError: the file is damaged.
    """
    try:
        records: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
        return records
    except (OSError, ValueError):
        raise InputError("a damaged piece of the build", file=path, remedy="delete it") from None

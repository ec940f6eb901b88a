"""RELiC, Table 5: the passages of a book that a system finds for a handwritten prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.books import Book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._queries import windows_of
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given

# Book to prompt: those of the paper, then one for the invented sample.
PROMPTS: Mapping[str, str] = {
    "frankenstein": "Victor does not consider the consequences of his actions",
    "the_great_gatsby": "A symbol of Gatsby's lifestyle",
    "a_shilling_for_carrying": "The price of a small favour",
}

COLUMNS = (Column("score"), Column("passage"))


@dataclass(frozen=True)
class RelicPrompts(Analysis):
    """The best passages of a book for a prompt.

    Attributes:
        prompt: the query; by default those of the paper, for the books of the datasets.
        book: the book to search; needed with a prompt if there are several.
        length: sentences of a passage.
        hits: number of passages shown.
    """

    name: ClassVar[str] = "relic-prompts"
    title: ClassVar[str] = "RELiC, Table 5: passages of a book for a prompt written by hand"
    datasets: ClassVar[tuple[str, ...]] = ("relic/train", "relic/test")
    several: ClassVar[bool] = True
    system: ClassVar[str] = "bm25"
    prompted: ClassVar[bool] = True

    prompt: str | None = None
    book: str | None = None
    length: int = 1
    hits: int = 3

    def find(self, inputs: Given) -> Findings:
        books = _books(inputs.datasets, self.length)
        tables, notes = [], []
        for book, prompt in self._prompts(books).items():
            best_lines = best(books[book], self.length, prompt, inputs.system, self.hits)
            if not best_lines:
                notes.append(f"{book}, given: {prompt}; {inputs.system}: no passage is found.")
                continue
            rows = {str(rank): line for rank, line in enumerate(best_lines, 1)}
            title = f"{book}, given: {prompt}; {inputs.system}"
            tables.append(FigureTable.of(book, title, "rank", COLUMNS, rows))
        return Findings(tuple(tables), notes=tuple(notes))

    def _prompts(self, books: Mapping[str, Book]) -> dict[str, str]:
        """Returns book to prompt."""
        if self.book is not None and self.book not in books:
            raise InputError(
                f"no book {self.book!r}",
                remedy=f"{did_you_mean(self.book, books)}there are {', '.join(books)}",
            )
        if self.prompt is not None:
            if self.book is None and len(books) > 1:
                raise InputError("a prompt for several books", remedy="name one with --book")
            return {self.book or next(iter(books)): self.prompt}
        prompts = {book: text for book, text in PROMPTS.items() if book in books}
        if self.book is not None:
            prompts = {book: text for book, text in prompts.items() if book == self.book}
        if not prompts:
            raise InputError(
                "the paper has no prompt for these books",
                remedy='give one: --book BOOK --prompt "TEXT"; books: ' + ", ".join(books),
            )
        return prompts


def _books(datasets: Sequence[Dataset], length: int) -> dict[str, Book]:
    books: dict[str, Book] = {}
    for dataset in datasets:
        windows_of(dataset)
        passages = dataset.passages()
        if passages is not None:
            books |= {book.name: book for book, size, _ in passages.groups if size == length}
    if not books:
        raise InputError(f"no book has passages of {length} sentences", remedy="--length 1 to 5")
    return books


def best(book: Book, length: int, prompt: str, system: str, hits: int) -> list[tuple[float, str]]:
    """Returns the score and text of the best passages of a book for a prompt."""
    from irtoolkit.datasets.memory import dataset_of_texts
    from irtoolkit.ranking.memory_index import MemoryIndex
    from irtoolkit.ranking.systems import find_system

    starts = book.starts[length]
    texts = {
        name: book.text(int(start), length)
        for name, start in zip(book.ids(starts, length), starts, strict=True)
    }
    index = MemoryIndex(dataset_of_texts(texts), find_system(system, {}))
    return [(hit.score, hit.text) for hit in index.search(prompt, k=hits)]

"""Books as plain text, as a format of documents: their passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

# The beginning of the formats' names; the number of sentences of a passage follows.
BOOK = "txt:"
# As in `irtoolkit.datasets.novels`.
PASSAGE, LONGEST_PASSAGE = 3, 20


def passages(sentences: int, path: Path) -> Iterator[tuple[int, str, str]]:
    """Yields (number from 1, id, text) of all passages of so many consecutive sentences.

    Raises:
        InputError: see `irtoolkit.datasets.novels.read_novel`.
    """
    from irtoolkit.datasets.novels import read_novel

    book = read_novel(path).book(sentences)
    for length, starts in book.starts.items():
        for start in starts.tolist():
            passage = book.passage(start, length)
            yield start + 1, passage.doc_id, passage.text

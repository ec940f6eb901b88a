"""Registered collections whose documents are passages of books."""

from __future__ import annotations

from pathlib import Path

from irtoolkit.datasets.local.book_format import BOOK
from irtoolkit.datasets.local.registered import LocalCollection
from irtoolkit.datasets.local.registry import read_registry


def registered_books(name: str) -> tuple[list[Path], int] | None:
    """Returns the files of a registered collection of books, and the sentences of a passage.

    None if no such collection is registered, or its documents are other files.

    Raises:
        InputError: a file is gone or has changed since.
    """
    entry = read_registry(lambda _: None).get(name)  # importing irtoolkit says what is damaged
    if entry is None or not entry.docs.format.startswith(BOOK):
        return None
    files = LocalCollection(name, entry).doc_files()
    return files, int(entry.docs.format.removeprefix(BOOK))

"""One work of criticism: cleaned, its quotations found, and its windows written to a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.sentences import language_of
from irtoolkit.building.relic import quotations as finding
from irtoolkit.building.relic import scans, windows
from irtoolkit.building.relic.books import sentences_of
from irtoolkit.building.relic.marks import Document
from irtoolkit.building.relic.quotations import Matching, Quotation, quotations
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.shelves import TextFile, digest

# Characters that are searched at once, in whole paragraphs.
_PORTION = 2_000_000
# Works that are not criticism by their titles (appendix A).
_NOT_CRITICISM = re.compile(
    r"\b(dictionary|anthology|encyclop(?:a|\u00e6)?edia|concordance|catalogue)\b", re.I
)


@dataclass(frozen=True)
class Finder:
    """Finds the windows of a work of criticism and writes them to a file; workers call it.

    Attributes:
        folder: where the files of all works go.
        books: where quotations are looked for.
        matching: what counts as a quotation.
        key: a hash of the books and all settings.
    """

    folder: Path
    books: Sequence[ShelvedBook]
    matching: Matching
    key: str

    def place(self, file: TextFile) -> Path:
        """The file of a work."""
        return self.folder / f"{file.name}.json"

    def __call__(self, file: TextFile) -> bool:
        """Writes the file of a work, unless it is there; whether it was written.

        Raises:
            InputError: the work is empty, no text, or damaged.
        """
        data = file.read()
        key = digest(self.key, data)
        if _key_in(self.place(file)) == key:
            return False
        try:
            scan = scans.read_scan(data)
        except InputError as error:
            raise InputError(
                error.found, file=file.path, line=error.line, remedy=error.remedy
            ) from None
        found = [window for part in _portions(scan.paragraphs) for window in self._windows(part)]
        record = {
            "key": key,
            "path": str(file.path),
            "title": scan.title or file.name,
            "author": scan.author,
            "encoding": scan.encoding,
            "sha256": digest(data),
            "words": sum(len(p.text.split()) for p in scan.paragraphs),
            "removed": dict(scan.removed),
            "criticism": _NOT_CRITICISM.search(scan.title) is None,
            "windows": found,
        }
        with atomic_text(self.place(file)) as out:
            json.dump(record, out, ensure_ascii=False, indent=1)
            out.write("\n")
        return True

    def _windows(self, document: Document) -> Iterator[dict[str, Any]]:
        lang = language_of(document.text)
        books = {book.name: book for book in self.books}
        texts: dict[str, list[str]] = {}
        for quotation in quotations(document, self.books, self.matching):
            if quotation.book not in texts:
                texts[quotation.book] = sentences_of(books[quotation.book])
            stop = quotation.start + quotation.length
            quoted = texts[quotation.book][quotation.start : stop]
            window = windows.window(document, quotation, quoted, lang)
            yield {
                **asdict(quotation),
                "quoted": document.text[quotation.begin : quotation.end],
                "left": window.left,
                "right": window.right,
                "leaks": window.leaks,
            }


def _key_in(path: Path) -> str | None:
    """The key of a file that a work has already."""
    try:
        key = json.loads(path.read_text("utf-8"))["key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(key)


def _portions(paragraphs: Sequence[scans.Paragraph]) -> Iterator[Document]:
    """Yields a work in parts of whole paragraphs, so that memory does not grow with it."""
    part: list[scans.Paragraph] = []
    size = 0
    for paragraph in paragraphs:
        part.append(paragraph)
        size += len(paragraph.text)
        if size > _PORTION:
            yield Document.of(part)
            part, size = [], 0
    if part:
        yield Document.of(part)


def formats() -> str:
    """The format numbers of what makes windows."""
    return f"{scans.FORMAT}.{finding.FORMAT}.{windows.FORMAT}"


def quotation_of(record: dict[str, Any]) -> Quotation:
    """The quotation of a window's record."""
    return Quotation(**{name: record[name] for name in Quotation.__dataclass_fields__})

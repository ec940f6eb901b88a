"""One work of criticism: cleaned, its quotations found, and its windows written to a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.sentences import language_of
from irtoolkit.building.relic import quotations as finding
from irtoolkit.building.relic import scans, windows
from irtoolkit.building.relic.books import sentences_of
from irtoolkit.building.relic.portions import Portion, portions
from irtoolkit.building.relic.quotations import Matching, Quotation, quotations
from irtoolkit.building.relic.reading import Source
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.shelves import TextFile

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
        key = file.digest(self.key)
        if _key_in(self.place(file)) == key:
            return False
        try:
            scan = scans.Scan(Source.of(file.opened))
            found = list(self._windows(scan.paragraphs()))
        except InputError as error:
            raise InputError(
                error.found, file=file.path, line=error.line, remedy=error.remedy
            ) from None
        header = scan.source.header
        record = {
            "key": key,
            "path": str(file.path),
            "title": header.title or file.name,
            "author": header.author,
            "encoding": scan.source.encoding,
            "sha256": file.digest(),
            "words": scan.words,
            "removed": {**scan.pages, **scan.removed},
            "criticism": _NOT_CRITICISM.search(header.title) is None,
            "windows": found,
        }
        with atomic_text(self.place(file)) as out:
            json.dump(record, out, ensure_ascii=False, indent=1)
            out.write("\n")
        return True

    def _windows(self, paragraphs: Iterable[scans.Paragraph]) -> Iterator[dict[str, Any]]:
        books = {book.name: book for book in self.books}
        texts: dict[str, list[str]] = {}
        lang: str | None = None
        find = partial(quotations, books=self.books, matching=self.matching)
        for number, portion in enumerate(portions(paragraphs, find)):
            lang = lang if number else language_of(portion.document.text)
            for quotation in portion.quotations:
                if quotation.book not in texts:
                    texts[quotation.book] = sentences_of(books[quotation.book])
                stop = quotation.start + quotation.length
                quoted = texts[quotation.book][quotation.start : stop]
                yield _record(
                    portion, quotation, windows.window(portion.document, quotation, quoted, lang)
                )


def _record(portion: Portion, quotation: Quotation, window: windows.Window) -> dict[str, Any]:
    """A window as the file of its work has it; places are those in the whole work."""
    return {
        **asdict(quotation),
        "begin": portion.offset + quotation.begin,
        "end": portion.offset + quotation.end,
        "quoted": portion.document.text[quotation.begin : quotation.end],
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


def formats() -> str:
    """The format numbers of what makes windows."""
    return f"{scans.FORMAT}.{finding.FORMAT}.{windows.FORMAT}"


def quotation_of(record: dict[str, Any]) -> Quotation:
    """The quotation of a window's record."""
    return Quotation(**{name: record[name] for name in Quotation.__dataclass_fields__})

"""A work of criticism: cleaned, its quotations found, and its windows written to a file.

See `irtoolkit.building.text_search` for the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from irtoolkit.base.errors import errors_in
from irtoolkit.base.languages import language_of
from irtoolkit.building.reading import Source
from irtoolkit.building.relic import quotations as finding
from irtoolkit.building.relic import scans, windows
from irtoolkit.building.relic.books import sentences_of
from irtoolkit.building.relic.portions import Portion, portions
from irtoolkit.building.relic.quotations import Matching, Quotation, quotations
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.shelves import TextFile
from irtoolkit.building.text_search import TextSearch

# Raised when the same windows are written in another way.
FORMAT = 3
# Running heads that are listed as examples.
_SHOWN = 50
# Works that are not criticism by their titles (appendix A).
_NOT_CRITICISM = re.compile(
    r"\b(dictionary|anthology|encyclop(?:a|\u00e6)?edia|concordance|catalogue)\b", re.I
)


@dataclass(frozen=True)
class Finder(TextSearch):
    """A callable for workers that finds the windows of a work and writes them to its file.

    Attributes:
        books: the possible sources of quotations.
        matching: the definition of a quotation.
    """

    books: Sequence[ShelvedBook]
    matching: Matching

    def __call__(self, file: TextFile, /) -> bool:
        """Writes the file of a work unless it exists; returns whether it was written.

        Raises:
            InputError: the work is empty, no text, or damaged.
        """
        key = file.digest(self.key)
        if self.is_done(file.name, key):
            return False
        quoted: Counter[str] = Counter()
        with errors_in(file.path):
            scan = scans.Scan(Source.of(file.opened))
            header = scan.source.edges
            about = {
                "key": key,
                "path": str(file.path),
                "title": header.title or file.name,
                "author": header.author,
                "encoding": scan.source.encoding,
                "sha256": file.digest(),
            }
            windows = self._windows(scan.paragraphs(), quoted)
            self.write(file.name, about, windows, lambda: {**_totals(scan), "quoted": quoted})
        return True

    def _windows(
        self, paragraphs: Iterable[scans.Paragraph], quoted_words: Counter[str]
    ) -> Iterator[dict[str, Any]]:
        """Yields the windows one by one; counts the words of each book that they quote."""
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
                quoted_words[quotation.book] += quotation.words
                yield _record(
                    portion, quotation, windows.window(portion.document, quotation, quoted, lang)
                )


def _totals(scan: scans.Scan) -> dict[str, Any]:
    """Returns what is known of a work that has been read."""
    header = scan.source.edges
    return {
        "words": scan.words,
        "removed": {**scan.pages, **scan.removed},
        "running heads": dict(scan.heads.most_common(_SHOWN)),
        "publishers": [[cut.first, cut.last, cut.reason] for cut in header.cuts],
        "criticism": _NOT_CRITICISM.search(header.title) is None,
    }


def _record(portion: Portion, quotation: Quotation, window: windows.Window) -> dict[str, Any]:
    """Returns a window's record in the file of its work; positions are those in the whole work."""
    return {
        **asdict(quotation),
        "begin": portion.offset + quotation.begin,
        "end": portion.offset + quotation.end,
        "quoted": portion.document.text[quotation.begin : quotation.end],
        "left": window.left,
        "right": window.right,
        "leaks": window.leaks,
    }


def formats() -> str:
    """Returns the format numbers of everything that decides windows."""
    return f"{scans.FORMAT}.{finding.FORMAT}.{windows.FORMAT}.{FORMAT}"

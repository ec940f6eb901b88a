"""A work of criticism: cleaned, its quotations found, and its windows written to a file.

A work has two files: NAME.jsonl with a window in each line, and NAME.json with facts about the work
as a whole. The latter is written last; a work without it is not done.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import errors_in
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line, write_json
from irtoolkit.base.languages import language_of
from irtoolkit.building.pipeline import each, keep_only
from irtoolkit.building.reading import Source
from irtoolkit.building.relic import quotations as finding
from irtoolkit.building.relic import scans, windows
from irtoolkit.building.relic.books import sentences_of
from irtoolkit.building.relic.portions import Portion, portions
from irtoolkit.building.relic.quotations import Matching, Quotation, quotations
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.shelves import TextFile

# Raised when the same windows are written in another way.
FORMAT = 2
# Running heads that are listed as examples.
_SHOWN = 50
# Works that are not criticism by their titles (appendix A).
_NOT_CRITICISM = re.compile(
    r"\b(dictionary|anthology|encyclop(?:a|\u00e6)?edia|concordance|catalogue)\b", re.I
)


@dataclass(frozen=True)
class Finder:
    """A callable for workers that finds the windows of a work and writes them to files.

    Attributes:
        folder: the folder of the files of all works.
        books: the possible sources of quotations.
        matching: the definition of a quotation.
        key: a hash of the books and all settings.
    """

    folder: Path
    books: Sequence[ShelvedBook]
    matching: Matching
    key: str

    def path(self, file: TextFile) -> Path:
        """Returns the file of a work as a whole."""
        return self.folder / f"{file.name}.json"

    def listing(self, file: TextFile) -> Path:
        """Returns the file of its windows."""
        return self.folder / f"{file.name}.jsonl"

    def record(self, file: TextFile) -> dict[str, Any]:
        """Returns the record of a work that is done."""
        content: dict[str, Any] = json.loads(self.path(file).read_text("utf-8"))
        return content

    def windows(self, file: TextFile) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields (position in the file, in bytes; window) of a work that is done."""
        position = 0
        with open(self.listing(file), "rb") as lines:
            for line in lines:
                yield position, json.loads(line)
                position += len(line)

    def __call__(self, file: TextFile) -> bool:
        """Writes the files of a work unless they exist; returns whether they were written.

        Raises:
            InputError: the work is empty, no text, or damaged.
        """
        key = file.digest(self.key)
        if _key_in(self.path(file)) == key and self.listing(file).exists():
            return False
        # The work is not done while its windows are written.
        self.path(file).unlink(missing_ok=True)
        with errors_in(file.path):
            scan = scans.Scan(Source.of(file.opened))
            quoted = _write(self.listing(file), self._windows(scan.paragraphs()))
        header = scan.source.edges
        record = {
            "key": key,
            "path": str(file.path),
            "title": header.title or file.name,
            "author": header.author,
            "encoding": scan.source.encoding,
            "sha256": file.digest(),
            "words": scan.words,
            "removed": {**scan.pages, **scan.removed},
            "running heads": dict(scan.heads.most_common(_SHOWN)),
            "publishers": [[cut.first, cut.last, cut.reason] for cut in header.cuts],
            "criticism": _NOT_CRITICISM.search(header.title) is None,
            "quoted": quoted,
        }
        write_json(self.path(file), record, indent=1)
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


def _write(path: Path, windows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Writes windows one by one; returns the words of each book that they quote."""
    quoted: Counter[str] = Counter()
    with atomic_text(path) as out:
        for window in windows:
            out.write(json_line(window))
            quoted[window["book"]] += window["words"]
    return dict(quoted)


def find_quotations(finder: Finder, works: Sequence[TextFile]) -> int:
    """Finds the quotations of all works and removes those of others; returns how many were done."""
    done = sum(not written for written in each(finder, works, "criticism", "work"))
    used = [path for file in works for path in (finder.path(file), finder.listing(file))]
    keep_only(finder.folder, used)
    return done


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


def _key_in(path: Path) -> str | None:
    """Returns the key of a file that a work has already."""
    try:
        key = json.loads(path.read_text("utf-8"))["key"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(key)


def formats() -> str:
    """Returns the format numbers of everything that decides windows."""
    return f"{scans.FORMAT}.{finding.FORMAT}.{windows.FORMAT}.{FORMAT}"

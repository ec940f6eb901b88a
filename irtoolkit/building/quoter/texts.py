"""A text of the corpus: its occurrences of quotes with their contexts, written to a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import json_line
from irtoolkit.building.quoter import contexts, corpus, finder, letters
from irtoolkit.building.quoter.contexts import side, without
from irtoolkit.building.quoter.corpus import Piece, Text, pieces
from irtoolkit.building.quoter.finder import Occurrence, Patterns, Search
from irtoolkit.building.quoter.letters import Unit, tokens
from irtoolkit.building.quoter.letters import letters as plain
from irtoolkit.building.shelves import digest
from irtoolkit.datasets.editions import edition

# Characters of the surroundings of an occurrence, for each word or character of its context; and at least.
_EACH, _AROUND = 100, 4000


@dataclass(frozen=True)
class Finder:
    """A callable for workers that finds the quotes of a text and writes them to a file.

    Attributes:
        folder: the folder of the files of all texts.
        patterns: the patterns.
        unit: the unit of contexts.
        context: words or characters of each side.
        key: a hash of the quotes and all settings.
    """

    folder: Path
    patterns: Patterns
    unit: Unit
    context: int
    key: str

    def path(self, text: Text) -> Path:
        """Returns the file of a text."""
        return self.folder / f"{text.file.name}.jsonl"

    def __call__(self, text: Text) -> bool:
        """Writes the file of a text unless it exists; returns whether it was written.

        The first line describes the text, the last one has its totals; each line between them is an
        occurrence.

        Raises:
            InputError: the text cannot be read, or holds no letters.
        """
        key = digest(self.key, text.sha)
        if _key_in(self.path(text)) == key:
            return False
        record = {
            "key": key,
            "path": str(text.file.path),
            "sha256": text.sha,
            "encoding": text.encoding,
            "title": text.header.title,
            "author": text.header.author,
            "lang": text.header.lang,
        }
        search, total, quoted = Search(self.patterns), 0, 0
        longest = self.patterns.longest
        around = max(_AROUND, _EACH * self.context, 4 * longest)
        with atomic_text(self.path(text)) as out:
            out.write(json_line(record))
            for piece in pieces(text, longest, around):
                begin, end = piece.letters.at.searchsorted([piece.done, piece.safe])
                total += int(end - begin)
                for occurrence in search.occurrences(piece):
                    parts = self.patterns.quotes[occurrence.quote].parts
                    quoted += sum(map(len, parts[occurrence.first : occurrence.last]))
                    out.write(json_line(self._record(piece, occurrence)))
            if not total:
                raise InputError("there is no text in it", file=text.file.path)
            totals = {"letters": total, "quoted": quoted, "left out": dict(search.left_out)}
            out.write(json_line(totals))
        return True

    def _record(self, piece: Piece, occurrence: Occurrence) -> dict[str, Any]:
        quote = self.patterns.quotes[occurrence.quote]
        quoted = [token[0] for token in tokens(quote.text, self.unit)]
        around = max(_AROUND, _EACH * self.context)
        begin = _with_marks(quote.text, piece.text, occurrence)
        before = piece.text[max(0, begin - around) : begin]
        after = piece.text[occurrence.end : occurrence.end + around]
        left, leaks = without(side(before, self.context, self.unit, left=True), quoted, self.unit)
        right, more = without(side(after, self.context, self.unit, left=False), quoted, self.unit)
        printed = side(piece.text[begin : occurrence.end], 1 << 30, self.unit, left=False)
        return {
            "quote": occurrence.quote,
            "first": occurrence.first,
            "last": occurrence.last,
            "begin": piece.offset + begin,
            "end": piece.offset + occurrence.end,
            "left": left,
            "printed": printed,
            "right": right,
            "leaks": leaks + more,
        }


def _with_marks(quote: str, text: str, occurrence: Occurrence) -> int:
    """Returns the begin of an occurrence including marks that begin the quote, as a bracket."""
    marks = quote[: next(i for i, character in enumerate(quote) if plain(character))]
    if occurrence.first == 0 and text.endswith(marks, 0, occurrence.begin):
        return occurrence.begin - len(marks)
    return occurrence.begin


def _key_in(path: Path) -> str | None:
    """Returns the key of a file that a text has already."""
    try:
        with open(path, encoding="utf-8") as source:
            return str(json.loads(source.readline())["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Found:
    """The results of a text: its file, read again.

    Attributes:
        about: the text.
        occurrences: in order.
        totals: the letters of the text and of its quotes, and omitted occurrences.
    """

    about: dict[str, Any]
    occurrences: list[dict[str, Any]]
    totals: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Found:
        """Reads the file of a text."""
        with open(path, encoding="utf-8") as source:
            first, *between, last = map(json.loads, source)
        return cls(first, between, last)


def formats() -> str:
    """Returns the format numbers of everything that decides contexts."""
    numbers = (letters.FORMAT, corpus.FORMAT, finder.FORMAT, contexts.FORMAT)
    return ".".join(map(str, (*numbers, edition.FORMAT)))

"""A text of the corpus: its occurrences of quotes with their contexts, written to a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.building.quoter import contexts, corpus, finder, letters
from irtoolkit.building.quoter.contexts import side, without
from irtoolkit.building.quoter.corpus import Piece, Text, pieces
from irtoolkit.building.quoter.finder import Occurrence, Patterns, Search
from irtoolkit.building.quoter.letters import Unit, tokens
from irtoolkit.building.quoter.letters import letters as plain
from irtoolkit.building.shelves import digest
from irtoolkit.building.text_search import TextSearch
from irtoolkit.datasets.editions import edition

# Characters of the surroundings of an occurrence, for each word or character of its context; and at least.
_EACH, _AROUND = 100, 4000


@dataclass(frozen=True)
class Finder(TextSearch):
    """A callable for workers that finds the quotes of a text and writes them to its file.

    Attributes:
        patterns: the patterns.
        unit: the unit of contexts.
        context: words or characters of each side.
    """

    patterns: Patterns
    unit: Unit
    context: int

    def __call__(self, text: Text, /) -> bool:
        """Writes the file of a text unless it exists; returns whether it was written.

        Raises:
            InputError: the text cannot be read, or holds no letters.
        """
        key = digest(self.key, text.sha)
        if self.is_done(text.file.name, key):
            return False
        about = {
            "key": key,
            "path": str(text.file.path),
            "sha256": text.sha,
            "encoding": text.encoding,
            "title": text.header.title,
            "author": text.header.author,
            "lang": text.header.lang,
        }
        search, counts = Search(self.patterns), Counter(letters=0, quoted=0)

        def totals() -> dict[str, Any]:
            if not counts["letters"]:
                raise InputError("there is no text in it", file=text.file.path)
            return {**counts, "left out": dict(search.left_out)}

        self.write(text.file.name, about, self._occurrences(text, search, counts), totals)
        return True

    def _occurrences(
        self, text: Text, search: Search, counts: Counter[str]
    ) -> Iterator[dict[str, Any]]:
        """Yields the occurrences one by one; counts the letters of the text and of its quotes."""
        longest = self.patterns.longest
        around = max(_AROUND, _EACH * self.context, 4 * longest)
        for piece in pieces(text, longest, around):
            begin, end = piece.letters.at.searchsorted([piece.done, piece.safe])
            counts["letters"] += int(end - begin)
            for occurrence in search.occurrences(piece):
                parts = self.patterns.quotes[occurrence.quote].parts
                counts["quoted"] += sum(map(len, parts[occurrence.first : occurrence.last]))
                yield self._record(piece, occurrence)

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


def formats() -> str:
    """Returns the format numbers of everything that decides contexts."""
    numbers = (letters.FORMAT, corpus.FORMAT, finder.FORMAT, contexts.FORMAT)
    return ".".join(map(str, (*numbers, edition.FORMAT)))

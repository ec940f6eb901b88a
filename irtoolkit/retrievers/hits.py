"""What a search finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.base.textwidth import printable

# Characters of a text that a table of hits shows.
_SHOWN = 120


class Hit(NamedTuple):
    """A document that a search found.

    Attributes:
        rank: its place, from 1.
        doc_id: its id.
        score: its score; higher is better.
        text: its text, as the system read it; empty where the index keeps none.
        matches: first and last + 1 character of each place in the text that matches the query.
    """

    rank: int
    doc_id: str
    score: float
    text: str
    matches: tuple[tuple[int, int], ...] = ()


class SearchResult(Sequence[Hit]):
    """What a search found, best first; a notebook shows it as a table.

    Attributes:
        query: the text that was searched for.
        why_none: why nothing was found, where that is known; else empty.
    """

    def __init__(self, query: str, hits: Iterable[Hit], why_none: str = "") -> None:
        self.query, self._hits, self.why_none = query, tuple(hits), why_none

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, key: Any) -> Any:
        return self._hits[key]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    @property
    def doc_ids(self) -> list[str]:
        """The ids of the documents, best first."""
        return [hit.doc_id for hit in self._hits]

    @property
    def scores(self) -> list[float]:
        """The scores, best first."""
        return [hit.score for hit in self._hits]

    @property
    def texts(self) -> list[str]:
        """The texts, best first."""
        return [hit.text for hit in self._hits]

    def _table(self) -> TextTable:
        rows: list[list[TableCell]] = [
            [hit.rank, _short(printable(hit.doc_id)), hit.score, _short(printable(hit.text, " "))]
            for hit in self._hits
        ]
        return TextTable(["rank", "document", "score", "text"], rows, printable(self.query, " "))

    def _nothing(self) -> str:
        why = f": {self.why_none}" if self.why_none else ""
        return f"no document matches {self.query!r}{why}"

    def __repr__(self) -> str:
        return str(self._table()) if self._hits else self._nothing()

    def _repr_html_(self) -> str:
        return self._table().to_html() if self._hits else f"<p>{escape(self._nothing())}</p>"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"

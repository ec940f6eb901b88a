"""The hits of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.base.textwidth import printable

# Characters of a text that a table of hits shows.
_SHOWN = 120

# First and last + 1 character of each place in a text that matches a query.
MatchedPlaces = tuple[tuple[int, int], ...]
# Reads the texts of some documents, and where each matches the query.
ReadTexts = Callable[[Sequence[str]], Sequence[tuple[str, MatchedPlaces]]]


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
    matches: MatchedPlaces = ()


class SearchResult(Sequence[Hit]):
    """The hits of a search, best first; a notebook shows it as a table.

    Texts are read when a hit is looked at; ids and scores are there before.

    Attributes:
        query: the text that was searched for.
        why_none: why nothing was found, where that is known; else empty.
    """

    def __init__(
        self,
        query: str,
        doc_ids: Sequence[str],
        scores: Sequence[float],
        read: ReadTexts,
        why_none: str = "",
    ) -> None:
        """`doc_ids` and `scores` are those of the hits, best first."""
        self.query, self.why_none = query, why_none
        self._doc_ids, self._scores, self._read = tuple(doc_ids), tuple(scores), read

    @cached_property
    def _hits(self) -> tuple[Hit, ...]:
        texts = self._read(self._doc_ids)
        columns = zip(self._doc_ids, self._scores, texts, strict=True)
        return tuple(
            Hit(rank, doc_id, score, text, matches)
            for rank, (doc_id, score, (text, matches)) in enumerate(columns, 1)
        )

    def chosen(self, places: Sequence[int]) -> SearchResult:
        """Returns some of the hits, ranked from 1."""
        ids = [self._doc_ids[position] for position in places]
        scores = [self._scores[position] for position in places]
        return SearchResult(self.query, ids, scores, self._read, self.why_none)

    def __reduce__(self) -> Any:
        # The hits alone: an index stays where it is open.
        read = _Texts({hit.doc_id: (hit.text, hit.matches) for hit in self._hits})
        return SearchResult, (self.query, self._doc_ids, self._scores, read, self.why_none)

    def __len__(self) -> int:
        return len(self._doc_ids)

    def __getitem__(self, key: Any) -> Any:
        return self._hits[key]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    @property
    def doc_ids(self) -> list[str]:
        """The ids of the documents, best first."""
        return list(self._doc_ids)

    @property
    def scores(self) -> list[float]:
        """The scores, best first."""
        return list(self._scores)

    @property
    def texts(self) -> list[str]:
        """The texts, best first."""
        return [hit.text for hit in self._hits]

    def to_frame(self) -> Any:
        """The hits as a pandas DataFrame: rank, doc_id, score and text."""
        import pandas as pd

        rows = [(hit.rank, hit.doc_id, hit.score, hit.text) for hit in self._hits]
        return pd.DataFrame(rows, columns=["rank", "doc_id", "score", "text"])

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
        return str(self._table()) if self._doc_ids else self._nothing()

    def _repr_html_(self) -> str:
        return self._table().to_html() if self._doc_ids else f"<p>{escape(self._nothing())}</p>"


@dataclass(frozen=True)
class _Texts:
    """Texts and their matches that were read before, by document id."""

    texts: Mapping[str, tuple[str, MatchedPlaces]]

    def __call__(self, doc_ids: Sequence[str]) -> list[tuple[str, MatchedPlaces]]:
        return [self.texts[doc_id] for doc_id in doc_ids]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"

"""Texts to read: queries, their gold, and what each system put on top, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from irtoolkit.reports.overlap import Overlap, Pieces
from irtoolkit.runs import Qrels

# Documents shown of each system's ranking, and of a query's relevant ones.
TOP = 10
# Characters kept of a document: fewer where many are shown, so that a page stays a few megabytes.
BUDGET = 4_000_000
SHORTEST, LONGEST = 400, 2000
QUERY_LIMIT = 4000
FACT_LIMIT = 300
GAP = "[\u2026]"


@dataclass(frozen=True)
class Fact:
    """A field of a record that is not its text, such as its facet or its book."""

    name: str
    value: str


@dataclass(frozen=True)
class Text:
    """A text as it is shown.

    Attributes:
        title: of its own, in pieces; None where it has none.
        pieces: plain and marked by turns; what is marked shares a term with the other side.
        length: characters of the whole text; more than the pieces hold where it was cut.
        facts: its other fields.
    """

    title: Pieces | None
    pieces: Pieces
    length: int
    facts: tuple[Fact, ...] = ()

    @property
    def held(self) -> int:
        """Characters that the pieces hold: the text's own, unless only its beginning is shown."""
        return sum(map(len, self.pieces))


@dataclass(frozen=True)
class QueryTexts:
    """One query and what to read about it.

    Attributes:
        query: its place among the judged queries.
        text: its text; marked is what it shares with the gold. None where the dataset has none.
        docs: every document shown, by id; None for one that has no text in the collection.
        grades: of the judged ones among them.
        gold: ids of relevant documents, the gold first.
        relevant: how many relevant documents there are, shown or not.
        tops: ids of each system's first documents.
    """

    query: int
    text: Text | None
    docs: Mapping[str, Text | None]
    grades: Mapping[str, int]
    gold: tuple[str, ...]
    relevant: int
    tops: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportTexts:
    """What can be read in a report.

    Attributes:
        entries: in the order of the judged queries.
        query_lang, doc_lang: as BCP 47 tags, or None.
        why: how the entries were picked where not every query has one; or why there are none.
    """

    entries: tuple[QueryTexts, ...] = ()
    query_lang: str | None = None
    doc_lang: str | None = None
    why: str | None = None


def pick(order: NDArray[np.float64], count: int) -> list[int]:
    """Places of so many queries, evenly spread from the lowest to the highest of some values.

    Returns:
        ascending places; all where there are no more than `count`.
    """
    if len(order) <= count:
        return list(range(len(order)))
    ranked = np.argsort(order, kind="stable")
    steps = np.linspace(0, len(order) - 1, count).round().astype(int)
    return sorted(ranked[steps].tolist())


def read_texts(
    dataset: Any,
    qrels: Qrels,
    places: Sequence[int],
    tops: Sequence[Mapping[str, Sequence[str]]],
    rel: int,
) -> ReportTexts:
    """The texts of some queries.

    Args:
        dataset: an ir_datasets dataset with queries and documents.
        qrels: its judgments.
        places: which of the judged queries.
        tops: of each system, query id to ids of its first documents.
        rel: lowest grade that counts as relevant.
    """
    wanted = {str(qrels.query_ids[place]): place for place in places}
    queries = {q.query_id: q for q in dataset.queries_iter() if q.query_id in wanted}
    judged = _judged(qrels, wanted)
    golds = {
        query_id: _relevant(dataset, queries.get(query_id), grades, rel)
        for query_id, grades in judged.items()
    }
    listed = {query_id: [tuple(top.get(query_id, ())) for top in tops] for query_id in wanted}
    needed = {doc for q in wanted for doc in (*golds[q][:TOP], *(d for t in listed[q] for d in t))}
    docs = {doc.doc_id: doc for doc in dataset.docs_store().get_many_iter(sorted(needed))}
    overlap = Overlap(dataset.docs_lang())
    shown = sum(len({*golds[q][:TOP], *(d for top in listed[q] for d in top)}) for q in wanted)
    limit = min(LONGEST, max(SHORTEST, BUDGET // max(1, shown)))
    entries = [
        _entry(
            place, queries.get(query_id), docs, judged[query_id], golds[query_id],
            listed[query_id], overlap, limit,
        )
        for query_id, place in tqdm(wanted.items(), "texts", disable=None, leave=False)
    ]  # fmt: skip
    return ReportTexts(tuple(entries), dataset.queries_lang(), dataset.docs_lang())


def _judged(qrels: Qrels, wanted: Mapping[str, int]) -> dict[str, dict[str, int]]:
    judged = {}
    for query_id, place in wanted.items():
        rows = slice(qrels.offsets[place], qrels.offsets[place + 1])
        names = qrels.doc_ids[qrels.docs[rows]]
        judged[query_id] = dict(zip(names, qrels.grades[rows].tolist(), strict=True))
    return judged


def _relevant(dataset: Any, query: Any, grades: Mapping[str, int], rel: int) -> list[str]:
    """Relevant documents: the gold that the dataset names first, then by grade and id."""
    ours = dataset.about
    named = None
    if query is not None and ours is not None and ours.gold_of is not None:
        named = ours.gold_of(query)
    found = [(doc != named, -grade, doc) for doc, grade in grades.items() if grade >= rel]
    return [doc for *_, doc in sorted(found)]


def _entry(
    place: int,
    query: Any,
    records: Mapping[str, Any],
    grades: Mapping[str, int],
    gold: list[str],
    tops: list[tuple[str, ...]],
    overlap: Overlap,
    limit: int,
) -> QueryTexts:
    asked = overlap.terms(_body(query)) if query is not None else set()
    shown = dict.fromkeys([*gold[:TOP], *(doc for top in tops for doc in top)])
    docs = {
        doc: _text(records[doc], asked, overlap, limit) if doc in records else None for doc in shown
    }
    aimed: set[str] = set()
    for doc in gold[:TOP]:
        if doc in records:
            aimed |= overlap.terms(_body(records[doc]))
    return QueryTexts(
        place,
        None if query is None else _text(query, aimed, overlap, QUERY_LIMIT),
        docs,
        {doc: grades[doc] for doc in shown if doc in grades},
        tuple(gold[:TOP]),
        len(gold),
        tuple(tops),
    )


def _text(record: Any, shared: set[str], overlap: Overlap, limit: int) -> Text:
    title = getattr(record, "title", None)
    title = title if isinstance(title, str) and title.strip() else None
    body = _body(record)
    rest = body.removeprefix(title).lstrip() if title else body
    # A text that is nothing but its title is shown once.
    title = title if rest else None
    rest = rest or body
    return Text(
        None if title is None else overlap.mark(title, shared),
        overlap.mark(_beginning(rest, limit), shared),
        len(rest),
        _facts(record),
    )


def _body(record: Any) -> str:
    """A record's text, with a mark where something was taken out of it."""
    text = record.with_mask(GAP) if hasattr(record, "with_mask") else record.default_text()
    return str(text).strip()


def _beginning(text: str, limit: int) -> str:
    """A text cut at the end of a word, where it is longer than the limit."""
    if len(text) <= limit:
        return text
    space = max(text.rfind(mark, limit // 2, limit) for mark in " \n\u3002\uff0c")
    return text[:space].rstrip() if space > 0 else text[:limit]


def _facts(record: Any) -> tuple[Fact, ...]:
    body = _body(record)
    facts = []
    for name in getattr(record, "_fields", ()):
        value = getattr(record, name)
        if name in ("query_id", "doc_id", "title") or not isinstance(value, str | int):
            continue
        said = str(value).strip()
        if said and len(said) <= FACT_LIMIT and said not in body:
            facts.append(Fact(name, said))
    if hasattr(record, "query_id") and isinstance(getattr(record, "doc_id", None), str):
        facts.append(Fact("document", record.doc_id))
    return tuple(facts)

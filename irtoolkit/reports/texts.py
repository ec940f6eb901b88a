"""Texts that a report shows: queries, their relevant documents, each system's first documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.reports.overlap import Overlap, Pieces
from irtoolkit.runs import Qrels

# Documents shown of each system's ranking, and of the relevant ones.
TOP = 10
# Characters kept of all documents together, so that most queries fit into a page; and of each one.
BUDGET = 1_500_000
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
    """The text of a query or document as the page shows it.

    Attributes:
        title: the title in pieces; None where the record has none.
        pieces: pieces of the text, plain and marked in turn; marked ones share a term with the
            query, or, in a query, with a relevant document.
        length: the number of characters of the whole text, of which the pieces may hold fewer.
        facts: the other fields of the record.
        shares: whether the whole text shares a term with the query; True in a query.
    """

    title: Pieces | None
    pieces: Pieces
    length: int
    facts: tuple[Fact, ...] = ()
    shares: bool = True

    @property
    def held(self) -> int:
        """The number of characters that the pieces hold."""
        return sum(map(len, self.pieces))


@dataclass(frozen=True)
class QueryTexts:
    """The texts of one query in a report.

    Attributes:
        query: the position of the query among the judged queries.
        text: the query's text, or None where the dataset has none.
        docs: document id to its text, for every document shown; None for a document without text.
        grades: document id to grade, for the judged documents among those shown.
        gold: ids of the relevant documents shown, the highest grades first.
        relevant: the number of relevant documents, shown or not.
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
    """The texts that a report shows.

    Attributes:
        entries: the texts of each query, in the order of the judged queries.
        query_lang: the language of queries as a BCP 47 tag, or None.
        doc_lang: the language of documents as a BCP 47 tag, or None.
        why: a sentence on how queries were picked where some are left out, or why none has texts.
    """

    entries: tuple[QueryTexts, ...] = ()
    query_lang: str | None = None
    doc_lang: str | None = None
    why: str | None = None


def pick(order: NDArray[np.float64], count: int) -> list[int]:
    """Picks queries whose values are evenly spread from the lowest to the highest.

    Args:
        order: (Q,) a value for each query.
        count: the most queries to pick.

    Returns:
        Positions of the picked queries, ascending.
    """
    if len(order) <= count:
        return list(range(len(order)))
    ranked = np.argsort(order, kind="stable")
    steps = np.linspace(0, len(order) - 1, count).round().astype(int)
    return sorted(ranked[steps].tolist())


def read_texts(
    dataset: Dataset, places: Sequence[int], tops: Sequence[Mapping[str, Sequence[str]]], rel: int
) -> ReportTexts:
    """Reads the texts of some queries, of their relevant documents and of the systems' first ones.

    Args:
        dataset: a dataset with queries, documents and judgments.
        places: positions among the judged queries.
        tops: for each system, query id to ids of its first documents.
        rel: the lowest grade that counts as relevant.
    """
    chosen = {str(dataset.qrels.query_ids[row]): row for row in places}
    queries = {q.query_id: q for q in dataset.queries_iter() if q.query_id in chosen}
    judged = _judged(dataset.qrels, chosen)
    relevant = {
        query_id: _relevant(dataset, queries.get(query_id), grades, rel)
        for query_id, grades in judged.items()
    }
    listed = {query_id: [tuple(top.get(query_id, ())) for top in tops] for query_id in chosen}
    documents = {q: _shown(relevant[q], listed[q]) for q in chosen}
    needed = sorted(set().union(*documents.values()))
    docs = {doc.doc_id: doc for doc in dataset.docs_store().get_many_iter(needed)}
    lengths = [len(_body(docs[doc])) for ids in documents.values() for doc in ids if doc in docs]
    overlap = Overlap(dataset.docs_lang())
    overlap.leave_out_common(_body(doc) for doc in docs.values())
    reader = _Reader(docs, overlap, _limit(lengths))
    entries = [
        reader.entry(row, queries.get(q), judged[q], relevant[q], listed[q])
        for q, row in tqdm(chosen.items(), "texts", disable=None, leave=False)
    ]
    return ReportTexts(tuple(entries), dataset.queries_lang(), dataset.docs_lang())


def _limit(lengths: Sequence[int]) -> int:
    """The most characters of a document with which all documents together keep to the budget."""
    sizes = np.array(lengths, dtype=np.int64)
    limits = range(LONGEST, SHORTEST, -100)
    fitting = (limit for limit in limits if np.minimum(sizes, limit).sum() <= BUDGET)
    return next(fitting, SHORTEST)


def _shown(relevant: Sequence[str], tops: Sequence[Sequence[str]]) -> list[str]:
    """Returns the ids of a query's documents in a report: relevant ones, then the systems' first."""
    return list(dict.fromkeys([*relevant[:TOP], *(doc for top in tops for doc in top)]))


def _judged(qrels: Qrels, chosen: Mapping[str, int]) -> dict[str, dict[str, int]]:
    judged = {}
    for query_id, row in chosen.items():
        rows = slice(qrels.offsets[row], qrels.offsets[row + 1])
        names = qrels.doc_ids[qrels.docs[rows]]
        judged[query_id] = dict(zip(names, qrels.grades[rows].tolist(), strict=True))
    return judged


def _relevant(dataset: Dataset, query: Any, grades: Mapping[str, int], rel: int) -> list[str]:
    """Returns the ids of relevant documents: the gold document of the query first, then by grade."""
    benchmark = dataset.about
    named = None
    if query is not None and benchmark is not None and benchmark.gold_of is not None:
        named = benchmark.gold_of(query)
    relevant = [(doc != named, -grade, doc) for doc, grade in grades.items() if grade >= rel]
    return [doc for *_, doc in sorted(relevant)]


@dataclass(frozen=True)
class _Reader:
    """Makes texts to show from a dataset's records.

    Attributes:
        docs: records of documents by id.
        overlap: finds the terms that two texts share.
        limit: the most characters kept of a document.
    """

    docs: Mapping[str, Any]
    overlap: Overlap
    limit: int

    def entry(
        self,
        index: int,
        query: Any,
        grades: Mapping[str, int],
        relevant: list[str],
        tops: list[tuple[str, ...]],
    ) -> QueryTexts:
        """Returns the texts of one query and its documents, as the page shows them.

        Args:
            index: the query's position among the judged ones.
            query: its record, or None.
            grades: document id to grade.
            relevant: ids of all relevant documents, the best first.
            tops: for each system, ids of its first documents.
        """
        documents, first = _shown(relevant, tops), relevant[:TOP]
        query_terms = set() if query is None else self.overlap.terms(_body(query))
        terms = [self.overlap.terms(_body(self.docs[doc])) for doc in first if doc in self.docs]
        docs = {
            doc: self._doc(self.docs[doc], query_terms) if doc in self.docs else None
            for doc in documents
        }
        return QueryTexts(
            query=index,
            text=None if query is None else self._text(query, set().union(*terms), QUERY_LIMIT),
            docs=docs,
            grades={doc: grades[doc] for doc in documents if doc in grades},
            gold=tuple(first),
            relevant=len(relevant),
            tops=tuple(tops),
        )

    def _doc(self, record: Any, query_terms: set[str]) -> Text:
        text = self._text(record, query_terms, self.limit)
        shares = not query_terms or bool(query_terms & self.overlap.terms(_body(record)))
        return replace(text, shares=shares)

    def _text(self, record: Any, shared: set[str], limit: int) -> Text:
        title = getattr(record, "title", None)
        title = title if isinstance(title, str) and title.strip() else None
        body = _body(record)
        rest = body.removeprefix(title).lstrip() if title else body
        # A text that is nothing but its title is shown once.
        title = title if rest else None
        rest = rest or body
        return Text(
            None if title is None else self.overlap.mark(title, shared),
            self.overlap.mark(_beginning(rest, limit), shared),
            len(rest),
            _facts(record),
        )


def _body(record: Any) -> str:
    """The text of a record, with a mark where its quotation was removed."""
    text = record.with_mask(GAP) if hasattr(record, "with_mask") else record.default_text()
    return str(text).strip()


def _beginning(text: str, limit: int) -> str:
    """The text, truncated at the end of a word where it is longer than the limit."""
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
        text = str(value).strip()
        if text and len(text) <= FACT_LIMIT and text not in body:
            facts.append(Fact(name, text))
    if hasattr(record, "query_id") and isinstance(getattr(record, "doc_id", None), str):
        facts.append(Fact("document", record.doc_id))
    return tuple(facts)

"""A retrieval dataset of the hub: documents, queries, judgments, candidates and exclusions."""

# No `from __future__ import annotations`: ir_datasets compares the annotations of records.

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.records import GradedQrel, whole
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.hub.layout import Selection
from irtoolkit.datasets.hub.repository import Repository
from irtoolkit.datasets.local.collection import TitledDoc

_IDS = ("_id", "id", "doc_id", "docid", "corpus-id", "query-id", "query_id", "qid")
_QUERY = ("query-id", "query_id", "qid")
_DOC = ("corpus-id", "corpus_id", "doc_id", "docid", "docno")
_GRADE = ("score", "relevance", "label", "grade")
_TEXTS = ("text", "content", "contents", "body", "query", "question")
_EXCLUDED = "excluded_ids"
# What stands for none in a list of excluded documents.
_NONE = "N/A"


class InstructedQuery(NamedTuple):
    """A query with an instruction on relevant documents, which is not part of its text."""

    query_id: str
    text: str
    instruction: str

    def default_text(self) -> str:
        """Returns the text without the instruction."""
        return self.text


class HubCollection:
    """The parts of a dataset on the hub, each read, and downloaded if need be, at its first use.

    Args:
        repository: the repository with the tables.
        selection: the selected tables.
        own_excluded: whether a document with the id of a query is excluded for it.
    """

    def __init__(
        self, repository: Repository, selection: Selection, own_excluded: bool = False
    ) -> None:
        self.repository, self._selection, self._own = repository, selection, own_excluded

    def has(self, part: str) -> bool:
        """Returns whether there is a table of a part; see `irtoolkit.datasets.hub.layout`."""
        return part in self._selection.parts

    @property
    def revision(self) -> str:
        """The commit of the data."""
        return self.repository.revision(self._selection.parts["corpus"][0])

    @property
    def licence(self) -> str:
        """The licence on the card; empty if it has none."""
        return self.repository.licence

    @property
    def size(self) -> int | None:
        """Bytes to download; None if the card does not say."""
        configs = {config for config, _ in self._selection.parts.values()}
        sizes = [self.repository.size(config) for config in configs]
        sizes_known = [size for size in sizes if size is not None]
        return sum(sizes_known) if sizes_known and len(sizes_known) == len(sizes) else None

    def is_here(self) -> bool:
        """Returns whether all parts are in the cache, or in a folder."""
        return all(self.repository.is_here(config) for config, _ in self._selection.parts.values())

    def fetch(self) -> None:
        """Downloads tables that are not in the cache."""
        for part in self._selection.parts:
            self._table(part)

    @property
    def key(self) -> str:
        """Returns a key that changes with the documents."""
        config, split = self._selection.parts["corpus"]
        return f"hub-{self.repository.name.place}-{self.revision}-{config}-{split}"

    @cached_property
    def docs(self) -> Records[Any]:
        """Returns the documents by id.

        Raises:
            InputError: there are none, one has no id, or two share one.
        """
        table = self._table("corpus")
        ids = self._texts(table, _IDS)
        seen_ids: set[str] = set()
        for name in ids:
            if name in seen_ids:
                raise self._error(f"document {name} occurs twice")
            seen_ids.add(name)
        if not ids:
            raise self._error("there are no documents")
        columns = {"doc_id": ids, "text": self._texts(table, _TEXTS, missing="")}
        if self.titled:
            columns["title"] = self._texts(table, ("title",), missing="")
        names = ["doc_id", "title", "text"] if self.titled else ["doc_id", "text"]
        make: Any = TitledDoc if self.titled else GenericDoc
        rows = TableRows(pa.table({n: columns[n] for n in names}), lambda _, *row: make(*row))
        return Records(lambda: ids, rows)

    @cached_property
    def titled(self) -> bool:
        """Whether documents have titles, which may be empty."""
        return "title" in self._columns("corpus")

    @cached_property
    def queries(self) -> Sequence[Any]:
        """Returns the queries; those with judgments, if there are judgments of the split.

        Raises:
            InputError: there are none, one occurs twice, or one has no instruction although others have.
        """
        table = self._table("queries")
        ids, texts = self._texts(table, _IDS), self._texts(table, _QUERY_TEXTS)
        rows = dict(zip(ids, texts, strict=True))
        if len(rows) < len(ids):
            raise self._error(f"query {_repeated(ids)} occurs twice")
        judged = set(self.judged) if self.has_qrels else set(rows)
        judged_rows = {name: text for name, text in rows.items() if name in judged}
        if not judged_rows:
            raise self._error("there are no queries with judgments")
        if not self.instructed:
            return [GenericQuery(name, text) for name, text in judged_rows.items()]
        instructions = self._instructions(table, ids)
        absent = next((name for name in judged_rows if name not in instructions), None)
        if absent is not None:
            raise self._error(f"query {absent} has no instruction")
        return [
            InstructedQuery(name, text, instructions[name]) for name, text in judged_rows.items()
        ]

    @cached_property
    def instructed(self) -> bool:
        """Whether queries have instructions."""
        return self.has("instructions") or "instruction" in self._columns("queries")

    def _instructions(self, queries: pa.Table, ids: Sequence[str]) -> dict[str, str]:
        if not self.has("instructions"):
            return dict(zip(ids, self._texts(queries, ("instruction",), missing=""), strict=True))
        table = self._table("instructions")
        names = self._texts(table, _QUERY)
        return dict(zip(names, self._texts(table, ("instruction",)), strict=True))

    @property
    def has_qrels(self) -> bool:
        """Whether there are judgments."""
        return self._selection.bright or self.has("qrels")

    @cached_property
    def judged(self) -> dict[str, dict[str, float]]:
        """Query id to document id to grade."""
        if self._selection.bright:
            golds = "gold_ids_long" if self._selection.long else "gold_ids"
            lists = self._lists("queries", golds)
            return {query: dict.fromkeys(docs, 1) for query, docs in lists.items()}
        table = self._table("qrels")
        queries, docs = self._texts(table, _QUERY), self._texts(table, _DOC)
        grades = self._column(table, _GRADE).to_pylist()
        judgments: dict[str, dict[str, float]] = {}
        for query, doc, grade in zip(queries, docs, grades, strict=True):
            if not isinstance(grade, int | float) or grade != grade:
                raise self._error(f"grade {grade!r} of document {doc} for query {query}")
            pool = judgments.setdefault(query, {})
            if pool.setdefault(doc, whole(grade)) != grade:
                raise self._error(f"document {doc} is judged twice for query {query}")
        return judgments

    def judgments(self) -> Iterator[GradedQrel]:
        """Yields the judgments of the queries."""
        query_ids = {query.query_id for query in self.queries}
        for query, docs in self.judged.items():
            if query in query_ids:
                yield from (GradedQrel(query, doc, grade) for doc, grade in docs.items())

    @cached_property
    def pools(self) -> dict[str, list[str]]:
        """Returns query id to the ids of its candidates.

        Raises:
            InputError: a query has none, or one of them is not a document.
        """
        lists = self._lists("pools", "corpus-ids", "corpus_ids")
        pools = {}
        for query in self.queries:
            pool = list(dict.fromkeys(lists.get(query.query_id, ())))
            if not pool:
                raise self._error(f"query {query.query_id} has no candidates in top_ranked")
            strange = next((doc for doc in pool if doc not in self.docs), None)
            if strange is not None:
                raise self._error(f"candidate {strange} of query {query.query_id} is no document")
            pools[query.query_id] = pool
        return pools

    @cached_property
    def excluded(self) -> dict[str, frozenset[str]]:
        """Query id to the documents that its ranking must not have; queries without any are left out."""
        if self.has("excluded"):
            lists = self._lists("excluded", "corpus-ids", "corpus_ids", _EXCLUDED)
        elif _EXCLUDED in self._columns("queries"):
            lists = self._lists("queries", _EXCLUDED)
        else:
            lists = {}
        excluded_docs = {query: {*docs} - {_NONE, ""} for query, docs in lists.items()}
        if self._own:
            for query in self.queries:
                excluded_docs.setdefault(query.query_id, set()).add(query.query_id)
        return {query: frozenset(docs) for query, docs in excluded_docs.items() if docs}

    # -- tables -----------------------------------------------------------------------------------

    def _columns(self, part: str) -> list[str]:
        return self.repository.columns(*self._selection.parts[part])

    def _table(self, part: str) -> pa.Table:
        return self.repository.table(*self._selection.parts[part])

    def _lists(self, part: str, *names: str) -> dict[str, list[str]]:
        """Returns query id to the ids in a column of lists, or in rows of single ids."""
        table = self._table(part)
        column = self._column(table, (*names, *_DOC)).to_pylist()
        lists: dict[str, list[str]] = {}
        for query, value in zip(self._texts(table, (*_QUERY, *_IDS)), column, strict=True):
            values = value if isinstance(value, list) else [] if value is None else [value]
            lists.setdefault(query, []).extend(map(str, values))
        return lists

    def _texts(
        self, table: pa.Table, names: Sequence[str], missing: str | None = None
    ) -> list[str]:
        """Returns the texts of the first of some columns that is there."""
        column = self._column(table, names)
        if pa.types.is_integer(column.type):
            column = column.cast(pa.string())
        values: list[Any] = column.to_pylist()
        for row, value in enumerate(values):
            if value is None and missing is not None:
                values[row] = missing
            elif not isinstance(value, str):
                raise self._error(f"row {row + 1} has {value!r:.40} as its {names[0]}, and no text")
        return values

    def _column(self, table: pa.Table, names: Sequence[str]) -> Any:
        column = next((name for name in names if name in table.column_names), None)
        if column is None:
            raise self._error(
                f"a table has the columns {', '.join(table.column_names)}, and none of"
                f" {', '.join(dict.fromkeys(names))}"
            )
        return table[column]

    def _error(self, problem: str) -> InputError:
        return InputError(
            f"{self.repository.name.place}: {problem}",
            remedy="it has another layout than MTEB's, BEIR's and BRIGHT's",
        )


# The texts of queries, of which `query` is BRIGHT's.
_QUERY_TEXTS = ("text", "query", "question", "content")


def _repeated(names: Sequence[str]) -> str:
    ids: set[str] = set()
    return next(name for name in names if name in ids or ids.add(name))  # type: ignore[func-returns-value]

"""The dataset: an ir_datasets id, a TREC qrels file, or texts in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_file
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import shown, url_of
from irtoolkit.base.pipes import is_pipe
from irtoolkit.base.records import Qrel
from irtoolkit.datasets import dataset_ids, elsewhere
from irtoolkit.datasets.benchmark import DEFAULT_MEASURES, Benchmark, EvaluationProtocol
from irtoolkit.datasets.books import Passages
from irtoolkit.datasets.handlers import DocsHandler, QrelsHandler, docs_key
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.named import source_named
from irtoolkit.runs import Qrels


class QueryRecords(list[Any]):
    """The query records of a dataset in order, each found by its id with `lookup`."""

    def lookup(self, query_id: str) -> Any:
        """Returns the record of a query.

        Raises:
            InputError: there is no such query.
        """
        for record in self:
            if record.query_id == query_id:
                return record
        guess = did_you_mean(str(query_id), (record.query_id for record in self)).strip()
        raise InputError(f"no query {query_id!r}", remedy=guess or None)


class Dataset:
    """Queries, documents, relevance judgments and candidates under one id.

    It has everything that an ir_datasets dataset has too (`queries_iter`, `docs_iter`,
    `docs_store`, `qrels_iter`, `has_scoreddocs`, ...).

    Attributes:
        id: the id as given, or the name of texts in memory.
        parts: the id in its parts.
        source: the ir_datasets dataset.
        in_memory: whether it was made from texts or a file and has no ir_datasets id.
        replaced: its parts that replace the id's own: topics and qrels with the name of a file,
            candidates=corpus; see `irtoolkit.datasets.replaced`.
    """

    def __init__(self, dataset_id: str, source: Any, *, in_memory: bool = False) -> None:
        self.id, self.source, self.in_memory = dataset_id, source, in_memory
        self.parts = DatasetId.parse(dataset_id)
        self.replaced: dict[str, str] = {}
        # The grade of documents that are left out of runs before these are scored.
        self.excluded: int | None = None
        # A function and its arguments that make it again, where it was made of another dataset.
        self._derived: tuple[Any, ...] | None = None

    @classmethod
    def load(cls, dataset_id: str) -> Dataset:
        """Returns the dataset of an ir_datasets id, registered ones included, or of a built folder.

        Raises:
            InputError: no such id; names the nearest ones.
        """
        return cls(dataset_id, source_named(dataset_id))

    @classmethod
    def of(cls, data: Dataset | StrPath | Any) -> Dataset:
        """Returns the dataset that something names or is.

        Args:
            data: a Dataset, an ir_datasets id, the path of a qrels file (TREC's or BEIR's), an
                ir_datasets dataset, or judgments of any kind that `Qrels.of` takes.

        Raises:
            InputError: no such dataset or file, or an invalid qrels file.
        """
        if isinstance(data, Dataset):
            return data
        if isinstance(data, str | Path):
            name = str(url_of(data) or data)
            is_judgments = is_file(name) or is_pipe(name)
            if is_judgments and name not in {*dataset_ids(), *ir_datasets.registry}:
                return cls.of_qrels(read_qrels(name), shown(name))
            return cls.load(name)
        if hasattr(data, "docs_iter") or hasattr(data, "queries_iter"):
            return cls(getattr(data, "_dataset_id", None) or "dataset", data, in_memory=True)
        return cls.of_qrels(Qrels.of(data))

    @classmethod
    def of_qrels(cls, qrels: Qrels, name: str = "judgments") -> Dataset:
        """Returns a dataset of judgments alone, which are enough to score runs."""
        dataset = cls(
            name, ir_datasets.Dataset(QrelsHandler(lambda: qrels, Qrel, {})), in_memory=True
        )
        dataset.qrels = qrels
        return dataset

    def __getattr__(self, name: str) -> Any:
        # Private names would recurse while unpickling.
        if name.startswith("_") or name == "source":
            raise AttributeError(name)
        return getattr(self.source, name)

    def __repr__(self) -> str:
        kinds = [kind for kind in ("queries", "docs", "qrels", "scoreddocs") if self.has(kind)]
        return f"Dataset({self.id!r}: {', '.join(kinds) or 'empty'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and (self.id, self.source) == (other.id, other.source)

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        return elsewhere.reduced(self)

    @property
    def decides(self) -> dict[str, str]:
        """Returns what decides a run besides the id: replaced parts, and the hub's commit."""
        revision = "" if self.about is None else self.about.revision
        return {**self.replaced, **({"revision": revision} if revision else {})}

    def view(self, name: str) -> Dataset:
        """Returns another view of the dataset (relic/val/1-1), or itself if it is that view."""
        return self if self.parts.shows(name) else Dataset.load(str(self.parts.view(name)))

    def has(self, kind: str) -> bool:
        """Returns whether it has "queries", "docs", "qrels" or "scoreddocs"."""
        return bool(getattr(self.source, f"has_{kind}")())

    @cached_property
    def queries(self) -> QueryRecords:
        """The query records in order; empty if there are none."""
        return QueryRecords(self.source.queries_iter() if self.has("queries") else ())

    def query_ids(self) -> list[str]:
        """Returns the ids of all queries in order."""
        return [query.query_id for query in self.queries]

    @cached_property
    def qrels(self) -> Qrels:
        """The relevance judgments.

        Raises:
            InputError: the dataset has none.
        """
        if not self.has("qrels"):
            raise InputError(
                f"dataset {self.id} has no qrels",
                remedy="its relevant documents are hidden or were never judged",
            )
        return Qrels.of(self.source)

    def relevant(self) -> dict[str, list[str]]:
        """Returns query id to the ids of its relevant documents (grade above 0).

        Empty without qrels.
        """
        relevant: dict[str, list[str]] = {}
        for row in self.source.qrels_iter() if self.has("qrels") else ():
            if row.relevance > 0:
                relevant.setdefault(row.query_id, []).append(row.doc_id)
        return relevant

    def candidates(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Yields (query ids, ids of the documents that each of them ranks); each query once.

        The documents are the dataset's scoreddocs if it has them, otherwise its whole corpus;
        without those that are excluded for a query.
        """
        excluded = self.excluded_docs
        for queries, docs in self._candidate_groups():
            plain = [query for query in queries if query not in excluded]
            if plain:
                yield plain, docs
            for query in queries:
                if query in excluded:
                    yield [query], [doc for doc in docs if doc not in excluded[query]]

    def _candidate_groups(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        if hasattr(self.source, "candidate_groups"):
            yield from self.source.candidate_groups()
        elif self.has("scoreddocs"):
            pools: dict[str, list[str]] = {}
            for row in self.source.scoreddocs_iter():
                pools.setdefault(row.query_id, []).append(row.doc_id)
            yield from (([query_id], pool) for query_id, pool in pools.items())
        else:
            yield self.query_ids(), [doc.doc_id for doc in self.source.docs_iter()]

    @cached_property
    def excluded_docs(self) -> Mapping[str, Collection[str]]:
        """Query id to the documents that are left out of its candidates and runs, as in BRIGHT.

        They are those that the dataset names, or those of a grade that its judgments define as
        excluded (BRIGHT's -100 in ir_datasets). Queries without any are left out.
        """
        if hasattr(self.source, "excluded_docs"):
            excluded: Mapping[str, Collection[str]] = self.source.excluded_docs()
            return excluded
        if not self.has("qrels") or "qrels" in self.replaced:
            return {}
        for grade, definition in (self.source.qrels_defs() or {}).items():
            if str(definition).lower().startswith("excluded"):
                return self.qrels.of_grade(grade)
        return {}

    def pools(self) -> dict[str, Sequence[str]]:
        """Returns query id to the ids of the documents that it ranks."""
        return {query: pool for queries, pool in self.candidates() for query in queries}

    @property
    def lang(self) -> str | None:
        """The language code of its documents, for example en or zh; None if unknown."""
        handler = self._documents()
        lang: str | None = None if handler is None else handler.docs_lang()
        return lang

    # -- facts about it ---------------------------------------------------------------

    @property
    def about(self) -> Benchmark | None:
        """The record of one of our benchmarks; None for other datasets."""
        record: Benchmark | None = getattr(self.source, "irtoolkit", lambda: None)()
        return record

    @cached_property
    def protocol(self) -> EvaluationProtocol:
        """Its evaluation protocol; by default, usual measures and plain means."""
        return (
            EvaluationProtocol(DEFAULT_MEASURES) if self.about is None else self.about.protocol_of()
        )

    @property
    def judgments_are_here(self) -> bool:
        """Whether reading qrels needs no download and no permission: ours, and those in memory."""
        return self.in_memory or self.about is not None or "qrels" in self.replaced

    def difference(self, edition: str | None = None) -> str | None:
        """Returns how it differs from the published data, or one edition of them, or None.

        None also if nothing is known of the published data.
        """
        if self.about is None or not self.has("queries"):
            return None
        return self.about.difference(self.queries_count(), edition)

    def breakdowns(self) -> list[str]:
        """Returns the names of its breakdowns, for example facet or book."""
        return [] if self.about is None else list(self.about.breakdowns)

    def breakdown(self, name: str) -> dict[str, list[str]]:
        """Returns the judged queries of each part, by one of the dataset's breakdowns.

        Raises:
            InputError: it has no such breakdown.
        """
        if self.about is None or name not in self.about.breakdowns:
            breakdowns = self.breakdowns()
            raise InputError(
                f"dataset {self.id} has no breakdown by {name!r}",
                remedy=f"{did_you_mean(name, breakdowns)}it has {', '.join(breakdowns) or 'none'}",
            )
        judged = {row.query_id for row in self.source.qrels_iter()}
        parts = {
            part: [query for query in queries if query in judged]
            for part, queries in self.about.breakdowns[name]().items()
        }
        return {part: queries for part, queries in parts.items() if queries}

    def known_queries(self) -> set[str]:
        """Returns the query ids of the dataset and of the datasets that it is a part of.

        A run made for csfcube may be scored on csfcube/method.
        """
        ids = set(self.query_ids())
        if "qrels" in self.replaced:
            ids.update(self.qrels.query_ids.tolist())
        if self.in_memory or "topics" in self.replaced:
            return ids
        for ancestor in list(self.parts.ancestors())[1:]:
            if str(ancestor) not in ir_datasets.registry:
                continue
            dataset = Dataset.load(str(ancestor))
            # Another collection's queries do not count: csfcube/sample is no part of csfcube.
            if dataset.has("queries") and dataset._documents() is self._documents():
                ids.update(dataset.query_ids())
        return ids

    @cached_property
    def docs_key(self) -> str | None:
        """Returns a key that changes with the documents; None if only reading them would tell."""
        return docs_key(self._documents())

    def passages(self) -> Passages | None:
        """Returns its documents if they are passages of books, otherwise None."""
        docs = self.documents_at_hand()
        return docs if isinstance(docs, Passages) else None

    def documents_at_hand(self) -> Mapping[str, Any] | None:
        """Returns its documents by id if that reads no files of ir_datasets, otherwise None."""
        handler = self._documents()
        return handler.by_id() if isinstance(handler, DocsHandler) else None

    def _documents(self) -> Any:
        return self.source.docs_handler() if self.has("docs") else None

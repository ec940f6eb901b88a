"""The exported parts of a dataset: texts, judgments and candidate pools, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.benchmark import Benchmark
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.hub.names import is_hub_name
from irtoolkit.datasets.identity import DatasetId, is_registered
from irtoolkit.integrations.exports.fields import TITLE, Fields, fields_of
from irtoolkit.retrievers.texts import DEFAULT_VIEW, text_batches, view


class Entry(NamedTuple):
    """A document or a query: its id, its text in two parts, and its other fields.

    Title and text, joined by a space, are what a retriever of irtoolkit reads; the title is empty
    if the text does not begin with one.
    """

    id: str
    title: str
    text: str
    other: dict[str, Any]

    @property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title} {self.text}" if self.title else self.text


class Judgment(NamedTuple):
    """A judgment; grades may be negative, or fractions."""

    query_id: str
    doc_id: str
    grade: float


def shared_id(dataset: str) -> str:
    """Returns the id of a dataset as others may read it: of a path the last part alone.

    Where a folder is on this machine says nothing to them.
    """
    parsed = DatasetId.parse(dataset)
    if parsed.folder:
        return "/".join((Path(parsed.folder).resolve().name, *parsed.parts[1:]))
    path = Path(dataset)
    if is_registered(dataset) or is_hub_name(dataset) or not path.exists():
        return dataset
    return path.resolve().name


@dataclass
class Source:
    """A dataset to export.

    Attributes:
        dataset: the dataset with documents, queries, judgments and pools.
        query, doc: the views that are written as texts; see `irtoolkit.retrievers.texts.view`.
        split: the name of the split in the files.
        progress: whether to show a progress bar.
        counts: number of written records of each kind.
    """

    dataset: Dataset
    query: str = DEFAULT_VIEW
    doc: str = DEFAULT_VIEW
    split: str = "test"
    progress: bool = True
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def about(self) -> Benchmark | None:
        """The record of the benchmark."""
        return self.dataset.about

    @property
    def id(self) -> str:
        """The id of the dataset; see `shared_id`."""
        return shared_id(self.dataset.id)

    @property
    def title(self) -> str:
        """The title of the benchmark, or else the id."""
        title = self.dataset.id if self.about is None else self.about.title
        return self.id if title == self.dataset.id else title

    @property
    def name(self) -> str:
        """The id of the dataset as a file name."""
        return self.id.replace("/", "-")

    def has(self, kind: str) -> bool:
        """Returns whether there are "docs", "queries", "qrels" or "scoreddocs" to write."""
        return self.dataset.has(kind)

    def doc_fields(self) -> Fields:
        """Returns the fields of documents that the text does not hold."""
        return fields_of(self.dataset.docs_cls(), self.doc, "doc_id")

    def query_fields(self) -> Fields:
        """Returns the queries' fields beyond their text, except those that no retriever sees."""
        return fields_of(self.dataset.queries_cls(), self.query, "query_id")

    def docs(self, fields: Fields | None = None) -> Iterator[Entry]:
        """Returns all documents in order, with some of their other fields."""
        total = self.dataset.docs_count()
        records = (
            self._plain()
            if not fields and self.doc == DEFAULT_VIEW and self._passages()
            else (self._doc(doc, fields) for doc in self.dataset.docs_iter())
        )
        return self._counted("documents", records, total)

    def queries(self, fields: Fields | None = None) -> Iterator[Entry]:
        """Returns all queries in order, with some of their other fields."""
        records = (
            Entry(query.query_id, "", " ".join(view(query, self.query)), _other(query, fields))
            for query in self.dataset.queries_iter()
        )
        return self._counted("queries", records, self.dataset.queries_count())

    def qrels(self) -> Iterator[Judgment]:
        """Returns all judgments in order."""
        rows = (Judgment(q.query_id, q.doc_id, q.relevance) for q in self.dataset.qrels_iter())
        return self._counted("judgments", rows, None)

    def pools(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Yields (query ids, ids of the documents that each of them ranks), group by group."""
        total = self.counts.get("queries")
        with self._bar("pools", total) as bar:
            for queries, docs in self.dataset.candidates():
                yield queries, docs
                bar.update(len(queries))
                for name, more in (
                    ("pools", len(queries)),
                    ("candidates", len(queries) * len(docs)),
                ):
                    self.counts[name] = self.counts.get(name, 0) + more

    def _passages(self) -> bool:
        return self.dataset.passages() is not None

    def _plain(self) -> Iterator[Entry]:
        """Yields passages without making records."""
        batches = text_batches(self.dataset, self.doc)
        rows = chain.from_iterable(zip(*batch, strict=True) for batch in batches)
        return (Entry(doc_id, "", " ".join(text), {}) for doc_id, text in rows)

    def _doc(self, record: Any, fields: Fields | None) -> Entry:
        text = " ".join(view(record, self.doc))
        title = getattr(record, TITLE, None)
        extra = _other(record, fields)
        if self.doc == DEFAULT_VIEW and isinstance(title, str) and text.startswith(f"{title} "):
            return Entry(record.doc_id, title, text[len(title) + 1 :], extra)
        return Entry(record.doc_id, "", text, extra)

    def _counted(self, name: str, rows: Iterable[Any], total: int | None) -> Iterator[Any]:
        number = 0
        with self._bar(name, total) as bar:
            for number, row in enumerate(rows, 1):
                yield row
                if not number % 1000:
                    bar.update(1000)
        self.counts[name] = number

    def _bar(self, name: str, total: int | None) -> Any:
        return tqdm(total=total, desc=name, leave=False, disable=None if self.progress else True)


def _other(record: Any, fields: Fields | None) -> dict[str, Any]:
    return {name: plain(getattr(record, name)) for name in fields or ()}


def plain(value: Any) -> Any:
    """Returns a value of a record as JSON holds it."""
    return list(value) if isinstance(value, tuple) else value


def json_line(record: dict[str, Any]) -> str:
    """Returns a record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"

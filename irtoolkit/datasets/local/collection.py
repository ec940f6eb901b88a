"""Collections in local files as ir_datasets datasets; each part is read at its first use.

The files of a registered collection must be unchanged since it was registered.
"""

# No `from __future__ import annotations`: ir_datasets compares the annotations of records.

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pyarrow as pa
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.records import Qrel, whole
from irtoolkit.datasets.benchmark import Benchmark, Statistic
from irtoolkit.datasets.cache import Schemas, Tables, content_hash, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.handlers import DocsHandler, PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.local.contents import Role
from irtoolkit.datasets.local.formats import DOC_SCHEMA, write_docs
from irtoolkit.datasets.local.judgments import QREL_SCHEMA, write_qrels
from irtoolkit.datasets.local.registry import CollectionRecord, PartRecord
from irtoolkit.datasets.local.topics import TOPIC_SCHEMA, write_topics
from irtoolkit.datasets.pools import read_pools

# Raised where the same file gives other documents, topics or judgments: 2 skips the header of
# tab-separated text, reads topics of TREC in XML, prefers doc_id and query_id to id in records, and label
# to score in judgments.
_SECOND = ("tsv", "jsonl", "csv", "parquet", "arrow")
# The columns of each part, and the function that checks and writes its rows.
_WRITERS: dict[Role, tuple[Schemas, Callable[..., None]]] = {
    "docs": (DOC_SCHEMA, write_docs),
    "topics": (TOPIC_SCHEMA, write_topics),
    "qrels": (QREL_SCHEMA, write_qrels),
}


class TitledDoc(NamedTuple):
    """A document with a title, which may be empty."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        """Returns title and text."""
        return f"{self.title} {self.text}".strip()


class TopicQuery(NamedTuple):
    """A topic with all its texts, any of which may be empty."""

    query_id: str
    title: str
    description: str
    narrative: str

    def default_text(self) -> str:
        """Returns the title, or the description of topics without a title, as in TREC-4."""
        return self.title or self.description


_DOC_RECORDS: dict[tuple[str, ...], type] = {cls._fields: cls for cls in (GenericDoc, TitledDoc)}
_QUERY_RECORDS: dict[tuple[str, ...], type] = {
    cls._fields: cls for cls in (GenericQuery, TopicQuery)
}


class LocalCollection:
    """A registered collection; each part is read at its first use."""

    def __init__(self, name: str, entry: CollectionRecord) -> None:
        self._name, self._entry = name, entry

    @cached_property
    def docs(self) -> Records[Any]:
        """The documents by id."""
        part = self._entry.docs
        table = self._docs_tables["docs"]
        rows = _rows(table, part.fields, _DOC_RECORDS[part.fields])
        return Records(lambda: table["doc_id"].to_pylist(), rows)

    @property
    def docs_key(self) -> str:
        """Returns a key that changes with the documents."""
        return f"{self._docs_tables.key}-{'-'.join(self._entry.docs.fields)}"

    def doc_files(self) -> list[Path]:
        """Returns the files of the documents, which are unchanged since the registration."""
        return self._checked(self._entry.docs)

    @cached_property
    def _docs_tables(self) -> Tables:
        return part_tables("docs", self._entry.docs.format, self.doc_files())

    @cached_property
    def queries(self) -> Sequence[Any]:
        """The topics."""
        part = self._part("topics")
        table = read_part("topics", part.format, self._checked(part))
        columns = tuple("title" if name == "text" else name for name in part.fields)
        return _rows(table, columns, _QUERY_RECORDS[part.fields])

    @cached_property
    def qrels(self) -> Sequence[Qrel]:
        """The judgments."""
        part = self._part("qrels")
        table = read_part("qrels", part.format, self._checked(part))

        def judgment(query_id: str, doc_id: str, relevance: float) -> Qrel:
            return Qrel(query_id, doc_id, whole(relevance))

        return _rows(table, Qrel._fields, judgment)

    @cached_property
    def pools(self) -> dict[str, list[str]]:
        """The candidates of each topic."""
        return read_pools(self._checked(self._part("pools"))[0])

    def where(self) -> str:
        """Returns the folder of the collection.

        Raises:
            InputError: one of its files is gone.
        """
        for part in self._entry.parts().values():
            self._present(part)
        return str(self._entry.folder)

    def statistics(self) -> list[Statistic]:
        """Returns the numbers of documents, queries and judgments."""
        statistics = [Statistic("Documents", len(self.docs))]
        if self._entry.topics is not None:
            statistics.append(Statistic("Queries", len(self.queries)))
        if self._entry.qrels is not None:
            judged = {qrel.query_id for qrel in self.qrels}
            positive = sum(qrel.relevance > 0 for qrel in self.qrels)
            statistics += [
                Statistic("Judged queries", len(judged)),
                Statistic("Judgments", len(self.qrels)),
                Statistic("Judgments above 0", positive),
            ]
        if self._entry.pools is not None:
            sizes = [len(pool) for pool in self.pools.values()]
            statistics.append(
                Statistic("Candidates of a query on average", sum(sizes) / len(sizes))
            )
        return statistics

    def _part(self, role: Role) -> PartRecord:
        return self._entry.parts()[role]

    def _present(self, part: PartRecord) -> list[Path]:
        paths = part.paths(self._entry.folder)
        for path in paths:
            if not path.is_file():
                raise InputError(
                    f"this file of the registered collection {self._name} is gone",
                    file=path,
                    remedy=f"put it back, or run irtoolkit register --remove {self._name}",
                )
        return paths

    def _checked(self, part: PartRecord) -> list[Path]:
        """Returns the files of a part, after a check that they have not changed."""
        paths = self._present(part)
        for path, recorded in zip(paths, part.files.values(), strict=True):
            if file_hash(path) != recorded:
                raise InputError(
                    f"this file has changed since {self._name} was registered",
                    file=path,
                    remedy=f"run irtoolkit register {self._name} --replace",
                )
        return paths


def _rows(table: pa.Table, columns: Sequence[str], make: Callable[..., Any]) -> TableRows[Any]:
    return TableRows(table.select(list(columns)), lambda _, *values: make(*values))


def read_part(role: Role, form: str, files: Sequence[Path]) -> pa.Table:
    """Returns documents, topics or judgments as columns, checked by themselves."""
    return part_tables(role, form, files)[role]


def part_tables(role: Role, form: str, files: Sequence[Path]) -> Tables:
    """Returns the one table of `read_part`, and its key."""
    schema, write = _WRITERS[role]
    version = 2 if form in _SECOND or (role, form) == ("topics", "trec") else 1
    write_files = partial(write, form, files if role == "docs" else files[0])
    return parsed(f"{role}-{form}", files, schema, write_files, version=version)


def file_hash(path: Path) -> str:
    """Returns the SHA-256 of a file; an InputError if it cannot be read."""
    try:
        return content_hash(path)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=path) from None


def collection_dataset(name: str, entry: CollectionRecord) -> ir_datasets.Dataset:
    """Returns the ir_datasets dataset of a registered collection; opens no file."""
    collection = LocalCollection(name, entry)
    cls = _DOC_RECORDS[entry.docs.fields]
    docs = DocsHandler(lambda: collection.docs, cls, name, entry.lang, lambda: collection.docs_key)
    parts: list[Any] = [docs]
    if entry.topics is not None:
        cls = _QUERY_RECORDS[entry.topics.fields]
        parts.append(QueriesHandler(lambda: collection.queries, cls, name, entry.lang))
    if entry.qrels is not None:
        parts.append(QrelsHandler(lambda: collection.qrels, Qrel, {}))
    if entry.pools is not None:
        parts.append(PoolsHandler(lambda: collection.pools.items()))
    return ir_datasets.Dataset(*parts, _about(name, collection))


def _about(name: str, collection: LocalCollection) -> Benchmark:
    return Benchmark(
        name=name,
        title=name,
        where=collection.where,
        howto="register its folder: irtoolkit register NAME FOLDER",
        description="a collection in files of your own",
        statistics_of=collection.statistics,
    )

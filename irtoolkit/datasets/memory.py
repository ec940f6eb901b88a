"""Datasets of texts in memory: lists of strings, id to text, data frames, records, text files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

import ir_datasets
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.arguments import checked
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.frames import is_frame
from irtoolkit.base.paths import on_disk
from irtoolkit.base.pipes import is_pipe
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.handlers import DocsHandler, PoolsHandler, QrelsHandler, QueriesHandler
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.pools import pools_of
from irtoolkit.datasets.text_file import DOCUMENTS, large_docs
from irtoolkit.datasets.texts import DOCS, QUERIES, is_path, texts_of
from irtoolkit.runs import Qrels

DEFAULT_NAME = "texts"


@checked
def dataset_of_texts(
    docs: Any,
    queries: Any = None,
    qrels: Any = None,
    candidates: Any = None,
    *,
    ids: Iterable[str] | None = None,
    name: str = DEFAULT_NAME,
) -> Dataset:
    """Returns a dataset of the given texts.

    Args:
        docs: the documents, or a mapping of corpus, queries, qrels and top_ranked to data frames, for
            example a DatasetDict. Documents are a list of strings, which get their positions "0", "1", ...
            as ids; id to text; a data frame with an id column (doc_id, docno, _id or id) and a text column
            (text, contents or body), below its title if it has one; records or dicts with these fields;
            (id, text) pairs; or the path of a .jsonl, .csv, .tsv, .trec or .parquet file, plain or .gz,
            which is parsed into irtoolkit's cache if it is large.
        queries: the queries in the same forms, with query_id, qid, _id or id, and text or query; the
            first line of a file shows its format, whatever its name is.
        qrels: relevance judgments, as `Qrels.of` takes them.
        candidates: query id to the ids of the documents that it ranks, or a run or a file, as
            `irtoolkit.datasets.pools.pools_of` takes them; by default all.
        ids: ids of the documents, if `docs` is a list of strings.
        name: the name of the dataset in messages and records.

    Raises:
        InputError: no documents, an id twice, or one with white space in a file; a text that is not a
            string; a query without text; ids that are not one for each document; a data frame without the
            columns; candidates or judgments of an unknown query or document.
    """
    docs, queries, qrels, candidates = _apart(docs, queries, qrels, candidates)
    docs, queries = _reopenable(docs), _reopenable(queries)
    load = _records(docs, ids)
    parts: list[Any] = [DocsHandler(load, GenericDoc, name, None)]
    query_texts: dict[str, str] = {}
    if queries is not None:
        query_texts = texts_of(queries, QUERIES)
        listed = [GenericQuery(query_id, text) for query_id, text in query_texts.items()]
        parts.append(QueriesHandler(lambda: listed, GenericQuery, name, None))
    if qrels is not None:
        judged = read_qrels(qrels) if isinstance(qrels, str | PathLike) else Qrels.of(qrels)
        parts.append(QrelsHandler(lambda: judged, Qrel, {}))
    if candidates is not None:
        pools = _pools(candidates, query_texts, load())
        parts.append(PoolsHandler(lambda: pools.items()))
    return Dataset(name, ir_datasets.Dataset(*parts), in_memory=True)


def _apart(docs: Any, *others: Any) -> tuple[Any, ...]:
    """Returns documents, queries, qrels and candidates; those of tables where none are given."""
    tables = _tables_of(docs)
    if tables is None:
        return docs, *others
    names = ("queries", "qrels", "candidates")
    pairs = zip(names, others, strict=True)
    return tables["docs"], *(tables.get(name) if part is None else part for name, part in pairs)


def _reopenable(value: Any) -> Any:
    """Returns texts unchanged, or a copy of a pipe, which can be read only once."""
    return local(value) if is_path(value) and is_pipe(value) else value


def _records(docs: Any, ids: Iterable[str] | None) -> Callable[[], Mapping[str, GenericDoc]]:
    """Returns a function that returns documents by id; those of a large file stay on disk."""
    large = large_docs(docs) if ids is None and is_path(docs) else None
    if large is not None:
        return large
    texts = texts_of(docs, DOCS, ids)
    records = {doc_id: GenericDoc(doc_id, text) for doc_id, text in texts.items()}
    return lambda: records


def dataset_at(name: str) -> Dataset:
    """Returns the dataset of an id that is the path of a file or folder, too.

    Raises:
        InputError: it is only that.
    """
    try:
        return Dataset.load(name)
    except InputError:
        if is_file(name):
            raise InputError(
                "not a file of documents by its name",
                file=name,
                remedy=f"documents are {DOCUMENTS} files, plain or .gz; books are .txt files",
            ) from None
        if on_disk(name).is_fifo():
            raise InputError(
                "a pipe has no index", file=name, remedy="write it to a file first"
            ) from None
        raise


def _pools(
    candidates: Any, queries: Mapping[str, str], docs: Mapping[str, Any]
) -> dict[str, list[str]]:
    pools, _ = pools_of(candidates)
    for query, pool in pools.items():
        if query not in queries:
            raise InputError(f"candidates of query {query}, which is not among the queries")
        strange = next((doc for doc in pool if doc not in docs), None)
        if strange is not None:
            raise InputError(f"candidate {strange} of query {query} is not among the documents")
    return pools


# The parts of a dataset, and the names of their tables.
_TABLES = {
    "docs": ("corpus", "docs", "documents", "collection", "passages"),
    "queries": ("queries", "topics", "query"),
    "qrels": ("qrels", "judgments", "default"),
    "candidates": ("top_ranked", "candidates", "pools"),
}


def _tables_of(value: Any) -> dict[str, Any] | None:
    """Returns the parts of a mapping of names to data frames; None for anything else.

    A single table is the documents, whatever its name is.

    Raises:
        InputError: a table of another name, the same part twice, or no documents.
    """
    if not isinstance(value, Mapping) or not value or not all(map(is_frame, value.values())):
        return None
    if len(value) == 1:
        return {"docs": next(iter(value.values()))}
    tables: dict[str, Any] = {}
    for name, table in value.items():
        part = next((p for p, names in _TABLES.items() if str(name).lower() in names), None)
        if part is None or part in tables:
            problem = "is no part of a dataset" if part is None else f"is a second table of {part}"
            raise InputError(
                f"table {name!r} {problem}",
                remedy="name the tables corpus, queries, qrels and top_ranked",
            )
        tables[part] = table
    if "docs" not in tables:
        raise InputError(
            f"no documents among the tables {', '.join(map(str, value))}", remedy="name one corpus"
        )
    return tables

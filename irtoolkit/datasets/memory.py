"""Datasets of texts in memory: lists of strings, id to text, data frames, records, text files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.arguments import checked
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.forms import without_packing
from irtoolkit.base.frames import column_named, columns_of, frame_columns, is_frame
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.paths import is_url, on_disk, split_query
from irtoolkit.base.pipes import is_pipe
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.handlers import (
    DocsHandler,
    PoolsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.local.contents import find_format
from irtoolkit.datasets.local.formats import DOC_FORMATS, DOC_IDS, DOC_TEXTS, TITLE, check_id
from irtoolkit.datasets.local.judgments import read_qrels
from irtoolkit.datasets.local.sheets import TOPIC_IDS, TOPIC_TEXTS
from irtoolkit.datasets.local.topics import TOPIC_FORMATS
from irtoolkit.datasets.pools import pools_of
from irtoolkit.datasets.tables import tables_of
from irtoolkit.datasets.text_file import DOCUMENTS, FORMATS, format_of, large_docs
from irtoolkit.runs import Qrels

DEFAULT_NAME = "texts"


class _Kind(NamedTuple):
    """The content of a collection of texts: documents or queries.

    Attributes:
        noun, plural: the names of one text and of all of them in messages.
        ids: names that a record or a column may give to the id; the first one that is present is read.
        texts: names of the text.
        formats: readers of files by format.
    """

    noun: str
    plural: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    formats: Mapping[str, Any]


_DOCS = _Kind("document", "documents", DOC_IDS, DOC_TEXTS, DOC_FORMATS)
_QUERIES = _Kind("query", "queries", TOPIC_IDS, TOPIC_TEXTS, TOPIC_FORMATS)


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
    tables = tables_of(docs)
    if tables is not None:
        sources = (None, queries, qrels, candidates)
        docs, queries, qrels, candidates = (
            table if part is None else part for table, part in zip(tables, sources, strict=True)
        )
    docs, queries = _reopenable(docs), _reopenable(queries)
    load = _records(docs, ids)
    parts: list[Any] = [DocsHandler(load, GenericDoc, name, None)]
    query_texts: dict[str, str] = {}
    if queries is not None:
        query_texts = _texts(queries, _QUERIES)
        for query_id, text in query_texts.items():
            if not text.strip():
                raise InputError(
                    f"query {query_id} has no text", remedy="leave it out, or give it one"
                )
        listed = [GenericQuery(query_id, text) for query_id, text in query_texts.items()]
        parts.append(QueriesHandler(lambda: listed, GenericQuery, name, None))
    if qrels is not None:
        judged = read_qrels(qrels) if isinstance(qrels, str | PathLike) else Qrels.of(qrels)
        parts.append(QrelsHandler(lambda: judged, Qrel, {}))
    if candidates is not None:
        pools = _pools(candidates, query_texts, load())
        parts.append(PoolsHandler(lambda: pools.items()))
    return Dataset(name, ir_datasets.Dataset(*parts), in_memory=True)


def _reopenable(value: Any) -> Any:
    """Returns texts unchanged, or a copy of a pipe, which can be read only once."""
    return local(value) if _is_path(value) and is_pipe(value) else value


def _records(docs: Any, ids: Iterable[str] | None) -> Callable[[], Mapping[str, GenericDoc]]:
    """Documents by id: those of a large file stay on disk."""
    large = large_docs(docs) if ids is None and _is_path(docs) else None
    if large is not None:
        return large
    texts = _texts(docs, _DOCS, ids)
    records = {doc_id: GenericDoc(doc_id, text) for doc_id, text in texts.items()}
    return lambda: records


def query_texts(queries: Any) -> dict[str, str]:
    """Returns query id to text, of queries in any of the forms that `dataset_of_texts` takes.

    Raises:
        InputError: none, an id twice, or a text that is not a string.
    """
    return _texts(queries, _QUERIES)


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


def _texts(source: Any, kind: _Kind, ids: Iterable[str] | None = None) -> dict[str, str]:
    """Returns id to text, in order."""
    texts: dict[str, str] = {}
    for doc_id, text in _pairs(source, kind, ids):
        if not isinstance(text, str):
            raise InputError(
                f"the text of {kind.noun} {doc_id} is {text!r}, which is not a string",
                remedy="give every one a string, which may be empty"
                if kind is _DOCS
                else "give every one a string",
            )
        name = str(doc_id)
        if name in texts:
            raise _twice(source, name, kind)
        texts[name] = text
    if not texts and _is_path(source):
        raise InputError(f"there are no {kind.plural}", file=source, remedy="give another file")
    if not texts:
        once = "; a generator can be read once: pass a list" if isinstance(source, Iterator) else ""
        raise InputError(f"there are no {kind.plural}", remedy=f"give at least one{once}")
    return texts


def _is_path(value: Any) -> bool:
    """Returns whether it is a path, or the name of a file."""
    if not isinstance(value, str):
        return isinstance(value, PathLike)
    return is_text_file(value) or is_file(value) or is_pipe(value)


def _twice(source: Any, name: str, kind: _Kind) -> InputError:
    """Returns the error for an id that occurs twice, with the lines of a file."""
    problem, remedy = f"{kind.noun} {name} occurs twice", "ids must be distinct"
    if not _is_path(source):
        return InputError(problem, remedy=remedy)
    lines = [item.line for item in _items(local(source), kind) if _id_of(item, kind) == name]
    return InputError(
        f"{problem}, first on line {lines[0]}", file=source, line=lines[1], remedy=remedy
    )


def _pairs(source: Any, kind: _Kind, ids: Iterable[str] | None) -> Iterable[tuple[Any, Any]]:
    if ids is not None:
        return _numbered(source, kind, ids)
    if isinstance(source, Mapping):
        return source.items()
    if _is_path(source):
        return _file(local(source), kind)
    if is_frame(source):
        return _framed(source, kind)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        raise InputError(
            f"{source!r:.60} is not a collection of {kind.plural}",
            remedy="give a list of strings, a dict of id to text, a data frame or a .jsonl file",
        )
    return (_pair(item, i, kind) for i, item in enumerate(source))


def _numbered(source: Any, kind: _Kind, ids: Iterable[str]) -> Iterable[tuple[Any, Any]]:
    texts, names = list(source), list(ids)
    if len(texts) != len(names):
        raise InputError(
            f"{len(names)} ids for {len(texts)} {kind.plural}", remedy="one id for each"
        )
    return zip(names, texts, strict=True)


def _pair(item: Any, position: int, kind: _Kind) -> tuple[Any, Any]:
    """Returns the id and the text of one item; of a bare string its position is the id."""
    if isinstance(item, str):
        return str(position), item
    if isinstance(item, Mapping):
        text = _picked(item, kind.texts, kind, position)
        if kind is _DOCS:
            text = _titled(item.get(TITLE), text)
        return _picked(item, kind.ids, kind, position), text
    if hasattr(item, "_fields"):  # a record, as ir_datasets has them
        name = _picked(item._asdict(), kind.ids, kind, position)
        return name, item.default_text() if hasattr(item, "default_text") else item[1]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise InputError(
        f"item {position} of the {kind.plural} is {item!r:.60}",
        remedy="give strings, (id, text) pairs or records with an id and a text",
    )


def _picked(record: Mapping[str, Any], names: tuple[str, ...], kind: _Kind, position: int) -> Any:
    for name in names:
        if name in record:
            return record[name]
    raise InputError(
        f"{kind.noun} {position} has {', '.join(map(str, record))}, and none of {', '.join(names)}",
        remedy="rename a field",
    )


def _framed(frame: Any, kind: _Kind) -> Iterable[tuple[Any, Any]]:
    columns = columns_of(frame, (kind.ids, kind.texts), kind.plural)
    names = frame_columns(frame, kind.plural)
    if kind is _DOCS and TITLE in names:
        titles = column_named(frame, names, TITLE, kind.plural)
        columns[1] = [_titled(title, text) for title, text in zip(titles, columns[1], strict=True)]
    return zip(*columns, strict=True)


def _titled(title: Any, text: Any) -> Any:
    """Returns a text below its title, if both are texts."""
    both = isinstance(title, str) and isinstance(text, str)
    return f"{title} {text}".strip() if both else text


def is_text_file(name: str) -> bool:
    """Returns whether a name ends as a file of texts does; dataset ids do not."""
    plain = split_query(name)[0] if is_url(name) else name
    return Path(without_packing(plain)).suffix.lower() in FORMATS


def _items(path: Path, kind: _Kind) -> Iterable[Any]:
    """Returns the documents or topics of a file, with their lines."""
    form = format_of(path) if kind is _DOCS else find_format("topics", path)
    if form is None:
        raise InputError(
            f"not a file of {kind.plural}",
            file=path,
            remedy=f"its name ends in {', '.join(FORMATS)}",
        )
    if not path.is_file():
        raise no_such_file(path)
    items: Iterable[Any] = kind.formats[form](path)
    return items


def _id_of(item: Any, kind: _Kind) -> str:
    return str(item.doc_id if kind is _DOCS else item.query_id)


def _file(path: Path, kind: _Kind) -> Iterable[tuple[Any, Any]]:
    for item in _items(path, kind):
        if kind is _DOCS:
            check_id(item.doc_id, path, item.line)
        text = f"{item.title} {item.text}" if kind is _DOCS else item.title or item.description
        yield _id_of(item, kind), text.strip() if kind is _DOCS else text

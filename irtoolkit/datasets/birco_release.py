"""The files of BIRCO: the release's pickles, the Hub's Parquet, or the same rows as lines.

Each split of a task has documents, queries and, for each query, the grades of the documents in its
pool: every row of them is a candidate, zeros included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import is_word
from irtoolkit.base.parquet import read_columns
from irtoolkit.base.records import GradedQrel, whole
from irtoolkit.datasets.cache import CacheWriter, Schemas, Tables, parsed
from irtoolkit.datasets.columns import Records, TableRows
from irtoolkit.datasets.local.judgments import QREL_FORMATS
from irtoolkit.datasets.plain_pickle import read_plain_pickle
from irtoolkit.datasets.strictjson import read_jsonl

# The tasks, and their repositories on the Hub, which have the test split.
TASKS = {
    "relic": "BIRCO-Relic-Test",
    "wtb": "BIRCO-WTB-Test",
    "doris-mae": "BIRCO-DorisMae-Test",
    "arguana": "BIRCO-ArguAna-Test",
    "clinical-trial": "BIRCO-ClinicalTrial-Test",
}
SPLITS = ("test", "dev")
# Folders of the Hub's configurations; that of the judgments is called default, and kept in data.
_HUB = {"corpus": ("corpus",), "queries": ("queries",), "judgments": ("data", "default", "qrels")}
_LINES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
_SCHEMAS: Schemas = {
    "docs": {"doc_id": pa.string(), "text": pa.string()},
    "queries": {"query_id": pa.string(), "text": pa.string()},
    "judgments": {"query_id": pa.string(), "doc_id": pa.string(), "relevance": pa.float64()},
}
_AGAIN = "fetch the release again"

# The place of a row, for messages, and its values.
Row = tuple[Path, int | None, tuple[Any, ...]]


def pickle_name(task: str, split: str) -> str:
    """Returns the name of the release's file of one split."""
    return f"{task}/{split}_set.pickle"


class BircoRelease:
    """A split of a task.

    Attributes:
        key: the key of its columns, see `irtoolkit.datasets.cache.Tables`.
        docs: the documents by id.
        queries: the queries in order.
    """

    def __init__(self, tables: Tables) -> None:
        self.key, self._judgments = tables.key, tables["judgments"]
        docs = tables["docs"]
        self.docs: Records[GenericDoc] = Records(
            docs["doc_id"].to_pylist, TableRows(docs, lambda _, *row: GenericDoc(*row))
        )
        self.queries: TableRows[GenericQuery] = TableRows(
            tables["queries"], lambda _, *row: GenericQuery(*row)
        )

    def judgments(self) -> TableRows[GradedQrel]:
        """Returns the grade of each document in each query's pool."""

        def make(_: int, query_id: str, doc_id: str, grade: float) -> GradedQrel:
            return GradedQrel(query_id, doc_id, whole(grade))

        return TableRows(self._judgments, make)

    def pools(self) -> dict[str, list[str]]:
        """Returns query id to the ids of its pool, in the release's order."""
        pools: dict[str, list[str]] = {}
        for row in self.judgments():
            pools.setdefault(row.query_id, []).append(row.doc_id)
        return pools


def files_of(folder: Path, task: str, split: str) -> list[Path] | None:
    """Returns the files of one split in a folder, in the first known format found.

    None if none is.
    """
    for release in (folder, folder / "datasets"):
        if (path := release / pickle_name(task, split)).is_file():
            return [path]
    lines = [folder / task / split / name for name in _LINES]
    if all(path.is_file() for path in lines):
        return lines
    hub = folder / TASKS[task]
    if split != "test" or not hub.is_dir():
        return None
    parts = [_parquet(hub, names) for names in _HUB.values()]
    return [path for part in parts for path in part] if all(parts) else None


def _parquet(hub: Path, names: Iterable[str]) -> list[Path]:
    """Returns the Parquet files of the first configuration that is there."""
    folders = (sorted((hub / name).glob("*.parquet")) for name in names)
    return next((files for files in folders if files), [])


def read_birco(files: list[Path]) -> BircoRelease:
    """Reads one split, or maps its columns from the cache.

    Args:
        files: the result of `files_of`.

    Raises:
        InputError: a file has another format, or tries to run code; an id is not one word or appears
            twice; a text is missing; a grade is not a number from 0 on; or a judgment has an unknown
            query or document.
    """
    reader = {".pickle": _of_pickle, ".jsonl": _of_lines, ".parquet": _of_parquet}[files[0].suffix]
    return BircoRelease(parsed("birco", files, _SCHEMAS, partial(_parse, reader, files)))


@dataclass
class _Parts:
    """The rows of one split as a form has them: (id, text), and (query, document, grade)."""

    docs: Iterable[Row] = ()
    queries: Iterable[Row] = ()
    judgments: Iterable[Row] = field(default_factory=list)


def _parse(reader: Callable[[list[Path]], _Parts], files: list[Path], out: CacheWriter) -> None:
    parts = reader(files)
    docs = _texts("docs", parts.docs, "document", out)
    queries = _texts("queries", parts.queries, "query", out)
    pairs: set[tuple[str, str]] = set()
    for path, line, (query, doc, grade) in parts.judgments:
        problem = None
        if query not in queries:
            problem = f"query {query} has judgments and no text"
        elif doc not in docs:
            problem = f"document {doc} in the pool of query {query} has no text"
        elif (query, doc) in pairs:
            problem = f"document {doc} is listed twice for query {query}"
        elif not isinstance(grade, int | float) or not 0 <= grade < math.inf:
            problem = f"grade {grade!r} of document {doc} for query {query} is no number from 0 on"
        if problem is not None:
            raise InputError(problem, file=path, line=line, remedy=_AGAIN)
        pairs.add((query, doc))
        out.add("judgments", query, doc, float(grade))
    absent = queries - {query for query, _ in pairs}
    if absent or not queries:
        reason = f"query {min(absent)} has no pool" if absent else "there are no queries"
        raise InputError(reason, file=files[0], remedy=_AGAIN)


def _texts(table: str, rows: Iterable[Row], noun: str, out: CacheWriter) -> set[str]:
    """Adds ids and texts to a table; returns the ids."""
    ids: set[str] = set()
    for path, line, (name, text) in rows:
        problem = None
        if not isinstance(name, str) or not is_word(name):
            problem = f"the {noun} id {name!r} is not one word"
        elif name in ids:
            problem = f"{noun} {name} appears twice"
        elif not isinstance(text, str):
            problem = f"the text of {noun} {name} is {text!r:.40}"
        if problem is not None:
            raise InputError(problem, file=path, line=line, remedy=_AGAIN)
        ids.add(name)
        out.add(table, name, text)
    return ids


# -- the forms ------------------------------------------------------------------------------------


def _of_pickle(files: list[Path]) -> _Parts:
    """Reads the release's own format: a dict with query, corpus and qrel, which are dicts too."""
    (path,) = files
    data = read_plain_pickle(path)
    qrel = data.get("qrel") if isinstance(data, dict) else None
    if not isinstance(qrel, dict) or not all(isinstance(pool, dict) for pool in qrel.values()):
        raise InputError(
            "not a split of BIRCO: a dict with query, corpus and qrel", file=path, remedy=_AGAIN
        )

    def texts(part: str) -> Iterator[Row]:
        if not isinstance(data.get(part), dict):
            raise InputError(f"not a split of BIRCO: it has no {part}", file=path, remedy=_AGAIN)
        return ((path, None, item) for item in data[part].items())

    rows = ((query, doc, grade) for query, pool in qrel.items() for doc, grade in pool.items())
    return _Parts(texts("corpus"), texts("query"), ((path, None, row) for row in rows))


def _of_lines(files: list[Path]) -> _Parts:
    """Returns the same rows in BEIR's form: corpus.jsonl, queries.jsonl and qrels.tsv."""
    corpus, queries, qrels = files

    def texts(path: Path) -> Iterator[Row]:
        for line, record in read_jsonl(path):
            fields = record if isinstance(record, dict) else {}
            yield path, line, (fields.get("_id"), _titled(fields))

    rows = QREL_FORMATS["csv"](qrels)
    return _Parts(texts(corpus), texts(queries), ((qrels, line, tuple(row)) for *row, line in rows))


def _of_parquet(files: list[Path]) -> _Parts:
    """Returns the Hub's form: Parquet of corpus, queries and the judgments."""

    def rows(part: str) -> Iterator[tuple[Path, int, dict[str, Any]]]:
        for path in files:
            if path.parent.name in _HUB[part]:
                for number, row in enumerate(_records(path), 1):
                    yield path, number, row

    def texts(part: str) -> Iterator[Row]:
        return ((path, n, (row.get("_id"), _titled(row))) for path, n, row in rows(part))

    def judgment(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row.get("query-id"), row.get("corpus-id"), row.get("score")

    return _Parts(
        texts("corpus"),
        texts("queries"),
        ((path, n, judgment(row)) for path, n, row in rows("judgments")),
    )


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        records: list[dict[str, Any]] = read_columns(path).to_pylist()
        return records
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"not Parquet: {error}", file=path, remedy=_AGAIN) from None


def _titled(row: Mapping[str, Any]) -> Any:
    """Returns the text of a record, after its title if it has one."""
    title, text = row.get("title"), row.get("text")
    return f"{title} {text}" if title and isinstance(text, str) else text

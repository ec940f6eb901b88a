"""Files of records, JSON lines, CSV, Parquet and Arrow, and the roles that their fields suggest.

The first line of a CSV names its columns, which commas, semicolons or tabs separate.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import first_line, read_lines
from irtoolkit.base.forms import column_mark, is_parquet_file
from irtoolkit.base.parquet import read_batches
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.local.tsv import DOC_IDS, DOC_TEXTS, TITLE, csv_rows
from irtoolkit.datasets.strictjson import read_jsonl
from irtoolkit.runs import objects

# Rows of a table that are in memory at a time.
_BATCH_ROWS = 4096

Records = Iterator[tuple[int, dict[str, Any]]]

TOPIC_IDS = ("query_id", "qid", "_id", "id", "query-id", "q_id", "topic_id")
TOPIC_TEXTS = ("text", "query", "title", "question")
# The columns of judgments: of queries, of documents and of grades.
QREL_COLUMNS = objects.column_names(objects.QRELS)
# The columns of candidates, as MTEB's top_ranked has them: of queries, and of lists of documents.
POOL_COLUMNS = ("query-id", "corpus-ids")
_COLUMNS = {
    *DOC_IDS,
    *DOC_TEXTS,
    TITLE,
    *TOPIC_IDS,
    *TOPIC_TEXTS,
    "description",
    "narrative",
    *(name for names in QREL_COLUMNS for name in names),
    *POOL_COLUMNS,
}


def form_of_table(path: Path) -> str | None:
    """Returns "parquet", "arrow" (Hugging Face's datasets), or None for any other file."""
    if is_parquet_file(path) or path.suffix == ".parquet":
        return "parquet"
    return "arrow" if path.suffix == ".arrow" else None


def form_of_columns(path: Path) -> str | None:
    """Returns the form of a file of records, a key of `RECORDS`; None for any other file."""
    table = form_of_table(path)
    if table is not None:
        return table
    first = first_line(path)[1]
    if first.lstrip().startswith("{"):
        return "jsonl"
    names = _header(first)
    return "csv" if len(names) > 1 and roles_of(names) else None


def is_sheet(path: Path) -> bool:
    """Returns whether a file of text has a header of more columns than an id and a text."""
    return form_of_columns(path) == "csv" and len(column_names(path, "csv")) > 2


def column_names(path: Path, form: str) -> list[str]:
    """Returns the names of the columns, or of the first object's fields, in lower case."""
    if form == "csv":
        return _header(first_line(path)[1])
    names = next(json_records(path))[1] if form == "jsonl" else _schema_names(path)
    return [name.lower() for name in names]


def roles_of(names: Collection[str]) -> list[str]:
    """Returns the roles that a file with these columns may have: judgments, or docs and topics.

    A file with texts has documents, even if they have a topic and a score.
    """
    is_judged = all(any(name in names for name in part) for part in QREL_COLUMNS)
    if is_judged and not any(name in names for name in DOC_TEXTS):
        return ["qrels"]
    texts = {"docs": (DOC_IDS, DOC_TEXTS), "topics": (TOPIC_IDS, TOPIC_TEXTS)}
    roles = [
        role
        for role, parts in texts.items()
        if all(any(name in names for name in part) for part in parts)
    ]
    # An id of documents alone makes them documents, one of queries alone makes them topics.
    explicit = [role for role in roles if any(name in names for name in _DISTINCT_IDS[role])]
    return explicit or roles


_DISTINCT_IDS = {
    "docs": set(DOC_IDS) - set(TOPIC_IDS),
    "topics": set(TOPIC_IDS) - set(DOC_IDS),
}


def json_records(path: Path) -> Records:
    """Yields (line, object) of a JSON lines file."""
    for line, record in read_jsonl(path, by_user=True):
        if not isinstance(record, dict):
            raise InputError(
                "not a JSON object", file=path, line=line, remedy="each line must be one object"
            )
        yield line, record


def csv_records(path: Path) -> Records:
    """Yields (line, record) of a CSV; names of columns are in lower case.

    Raises:
        InputError: an empty file, a column named twice, or a row that is not CSV or has more or fewer fields than the header.
    """
    numbered = read_lines(path)
    first, head = next(((number, line) for number, line in numbered if line.strip()), (1, ""))
    if not head:
        raise InputError("an empty file", file=path, remedy="give another file")
    names = _header(head)
    if not roles_of(names):
        raise InputError(
            f"the first line names no columns that are known: {', '.join(names)[:60]}",
            file=path,
            line=first,
            remedy="the first line of a CSV names its columns, such as id,text",
        )
    _check_distinct(names, path, first)
    for number, row in csv_rows(numbered, head, path):
        if len(row) not in (0, len(names)):
            raise InputError(
                f"{number_of(len(row), 'fields')}, and {number_of(len(names), 'columns')}",
                file=path,
                line=number,
                remedy="put a text with commas or quotes between double quotes; between tabs"
                " a text has no tab and no line end",
            )
        if row:
            yield number, dict(zip(names, row, strict=True))


def _check_distinct(names: Sequence[str], path: Path, line: int | None = None) -> None:
    """Raises InputError if two columns have the same name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns are named {twice!r}", file=path, line=line, remedy="rename one of them"
        )


def table_records(path: Path) -> Records:
    """Yields (row from 1, record) of Parquet or Arrow; names of columns are in lower case.

    Raises:
        InputError: the file cannot be read, or two columns have the same name.
    """
    row = 0
    for batch in _used_columns(path):
        for record in batch.to_pylist():
            row += 1
            yield row, {name.lower(): value for name, value in record.items()}


RECORDS: dict[str, Callable[[Path], Records]] = {
    "jsonl": json_records,
    "csv": csv_records,
    "parquet": table_records,
    "arrow": table_records,
}


def grade_columns(names: Sequence[str], path: Path) -> list[str]:
    """Returns the columns of queries, documents and grades.

    Raises:
        InputError: one of them is missing.
    """
    chosen = []
    for names_of_part in QREL_COLUMNS:
        column = next((name for name in names_of_part if name in names), None)
        if column is None:
            raise InputError(
                f"no column {' or '.join(names_of_part)}; it has {', '.join(names)}",
                file=path,
                line=1,
                remedy="judgments need the columns query_id, doc_id and relevance",
            )
        chosen.append(column)
    return chosen


def _header(line: str) -> list[str]:
    """Returns the names of the columns that a first line has."""
    try:
        row = next(csv.reader([line.strip()], delimiter=column_mark(line), strict=True), [])
    except csv.Error:
        return []
    return [name.strip().lower() for name in row]


def _schema_names(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    try:
        if form_of_table(path) == "parquet":
            return list(pq.read_schema(path).names)
        return list(pa.ipc.open_stream(pa.memory_map(str(path))).schema.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None


def _used_columns(path: Path) -> Iterator[Any]:
    """Yields the columns that mean something here, as Arrow record batches."""
    columns = [name for name in _schema_names(path) if name.lower() in _COLUMNS]
    _check_distinct([name.lower() for name in columns], path)
    try:
        if form_of_table(path) == "parquet":
            yield from read_batches(path, columns, _BATCH_ROWS)
            return
        for batch in pa.ipc.open_stream(pa.memory_map(str(path))):
            chosen = pa.table(batch.select(columns))
            yield from chosen.to_batches(max_chunksize=_BATCH_ROWS)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    noun = "Parquet" if form_of_table(path) == "parquet" else "a stream of Arrow"
    if not path.stat().st_size:
        return InputError("an empty file", file=path, remedy="write or download it again")
    problem = (str(error).splitlines() or ["damaged"])[0]
    return InputError(f"not {noun}: {problem}", file=path, remedy="write or download it again")

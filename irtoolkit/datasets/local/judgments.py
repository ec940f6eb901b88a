"""Readers of judgments: TREC's four columns, and records with a grade, as BEIR has them between tabs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, first_line, is_file, local
from irtoolkit.base.forms import column_mark, is_parquet_file
from irtoolkit.base.ids import is_word
from irtoolkit.base.records import whole
from irtoolkit.datasets.cache import CacheWriter, Schemas
from irtoolkit.datasets.local.formats import json_id
from irtoolkit.datasets.local.sheets import (
    QREL_COLUMNS,
    RECORDS,
    Records,
    column_names,
    form_of_columns,
    grade_columns,
    roles_of,
)
from irtoolkit.runs import Qrels, trec
from irtoolkit.runs.columns import QREL_FIELDS
from irtoolkit.runs.recognise import is_run

QREL_SCHEMA: Schemas = {
    "qrels": {
        "query_id": pa.string(),
        "doc_id": pa.string(),
        "relevance": pa.float64(),
        "line": pa.int64(),
    },
}
_GRADE = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,40})?([eE]-?[0-9]{1,2})?")


def read_qrels(path: StrPath) -> Qrels:
    """Returns the judgments of a file: TREC qrels, CSV (BEIR's is one), JSON lines, or Parquet.

    Raises:
        InputError: no such file, or one in none of these formats.
    """
    path = local(path)
    if is_parquet_file(path):
        return Qrels.read(path)
    if is_run(path):
        raise InputError(
            "a run, and judgments are expected",
            file=path,
            remedy="name a dataset or a file of judgments before the runs",
        )
    form = form_of_judgments(path)
    if form == "trec":
        return Qrels.read(path)
    return Qrels.from_rows(row[:3] for row in QREL_FORMATS[form](path))


def form_of_judgments(path: Path) -> str:
    """Returns the format of a file of judgments, a key of `QREL_FORMATS`.

    Raises:
        InputError: the columns of its first line, separated by commas or semicolons, are not those of judgments.
    """
    form = form_of_columns(path)
    if form is not None:
        return form
    number, first = first_line(path)
    if column_mark(first) != "\t" and len(first.split()) < len(QREL_FIELDS):
        raise InputError(
            f"the columns {first!r:.60} are not those of judgments",
            file=path,
            line=number,
            remedy="the first line of a CSV names its columns, such as query_id,doc_id,relevance",
        )
    return "trec"


def is_judgments(name: str) -> bool:
    """Returns whether a name is that of a file of records with columns of judgments."""
    if not is_file(name):
        return False
    path = local(name)
    form = form_of_columns(path)
    return form is not None and roles_of(column_names(path, form)) == ["qrels"]


def may_be_scores(path: Path) -> bool:
    """Returns whether records have scores and no grades, so that it may be a run.

    BEIR's judgments have scores, too, but name the column of documents corpus-id.
    """
    form = form_of_columns(path)
    names = set() if form is None else set(column_names(path, form))
    grades = names.intersection(QREL_COLUMNS[2])
    return grades == {"score"} and "corpus-id" not in names


def write_qrels(form: str, path: Path, out: CacheWriter) -> None:
    """Parses and checks judgments into rows of `QREL_SCHEMA`.

    Raises:
        InputError: not the format `form`, a key of `QREL_FORMATS`; a grade is not a small number,
            or in TREC qrels a fraction; a document is judged twice for a topic; or there are no judgments.
    """
    for row in QREL_FORMATS[form](path):
        out.add("qrels", *row)


def _trec_qrels(path: Path) -> Iterator[tuple[str, str, int, int]]:
    columns = trec.parse_qrels(path)
    rows = zip(columns.queries, columns.docs, columns.grades, columns.lines, strict=True)
    for query, doc, grade, line in rows:
        yield columns.query_ids[query], columns.doc_ids[doc], int(grade), int(line)


def _column_qrels(form: str, path: Path) -> Iterator[tuple[str, str, float, int]]:
    columns = grade_columns(column_names(path, form), path)
    rows = _rows(RECORDS[form](path), columns, path)
    return _checked_qrels(rows, path, f"a row is: {', '.join(columns)}")


def _rows(
    records: Records, columns: Sequence[str], path: Path
) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yields (line, ids and grade as text) of records; in JSON, names may be in upper case."""
    query, doc, grade = columns
    for line, record in records:
        row = record if query in record else {name.lower(): record[name] for name in record}
        value = row.get(grade)
        ids = json_id(row, query, path, line), json_id(row, doc, path, line)
        yield line, (*ids, "" if value is None else str(value))


def _checked_qrels(
    rows: Iterator[tuple[int, tuple[str, str, str]]], path: Path, remedy: str
) -> Iterator[tuple[str, str, float, int]]:
    lines: dict[tuple[str, str], int] = {}
    for number, (query, doc, grade) in rows:
        problem = None
        if not (is_word(query) and is_word(doc)):
            problem = "an id that is not one word"
        elif not _GRADE.fullmatch(grade) or abs(float(grade)) > trec.MAX_GRADE:
            problem = f"score {grade!r} is not a number up to {trec.MAX_GRADE:,}"
        elif (query, doc) in lines:
            first = lines[query, doc]
            problem = f"document {doc} is judged twice for topic {query}, first at line {first}"
        if problem is not None:
            raise InputError(problem, file=path, line=number, remedy=remedy)
        lines[query, doc] = number
        yield query, doc, whole(float(grade)), number
    if not lines:
        raise InputError("no judgments", file=path, remedy="give another file")


QREL_FORMATS: dict[str, Callable[[Path], Iterator[tuple[str, str, float, int]]]] = {
    "trec": _trec_qrels,
    **{form: partial(_column_qrels, form) for form in RECORDS},
    # The name of CSV between tabs in older registrations.
    "beir": partial(_column_qrels, "csv"),
}

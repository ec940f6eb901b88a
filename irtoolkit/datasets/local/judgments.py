"""Judgments of a file in either of their usual forms."""

from __future__ import annotations

from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, first_line, is_file, local
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.datasets.local.sheets import (
    QREL_COLUMNS,
    column_names,
    form_of_columns,
    roles_of,
)
from irtoolkit.datasets.local.topics import BEIR_HEADER, QREL_FORMATS
from irtoolkit.runs import Qrels
from irtoolkit.runs.recognise import is_run


def read_qrels(path: StrPath) -> Qrels:
    """Returns the judgments of a file: TREC qrels, BEIR's with their header, CSV, or Parquet.

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
    form = form_of_columns(path)
    number, first = first_line(path) if form in ("csv", None) else (1, "")
    if first.split("\t") == BEIR_HEADER:
        form = "beir"
    elif form is None and "," in first and len(first.split()) < 4:
        raise InputError(
            f"the columns {first!r} are not those of judgments",
            file=path,
            line=number,
            remedy="name them query_id, doc_id and relevance",
        )
    if form is None:
        return Qrels.read(path)
    return Qrels.from_rows(row[:3] for row in QREL_FORMATS[form](path))


def is_judgments(name: str) -> bool:
    """Returns whether a name is that of a CSV or Parquet file with columns of judgments."""
    if not is_file(name):
        return False
    path = local(name)
    form = form_of_columns(path)
    return form is not None and roles_of(column_names(path, form)) == ["qrels"]


def may_be_scores(path: Path) -> bool:
    """Returns whether CSV or Parquet has scores and no grades, so that it may be a run.

    BEIR's judgments have scores, too, but name the column of documents corpus-id.
    """
    form = form_of_columns(path)
    names = set() if form is None else set(column_names(path, form))
    grades = names.intersection(QREL_COLUMNS[2])
    return grades == {"score"} and "corpus-id" not in names

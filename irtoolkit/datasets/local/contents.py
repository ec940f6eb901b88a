"""The role and format of a collection's file, from its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.base.ids import SPACE
from irtoolkit.datasets.editions.reading import SUFFIXES
from irtoolkit.datasets.local.formats import BOOK
from irtoolkit.datasets.local.judgments import form_of_judgments
from irtoolkit.datasets.local.sheets import (
    POOL_COLUMNS,
    column_names,
    form_of_columns,
    form_of_table,
    roles_of,
)
from irtoolkit.datasets.novels import LENGTH

Role = Literal["docs", "topics", "qrels", "pools"]
_PEEKED_LINES = 50
# Columns that only topics have.
_QUERIES = {"qid", "query_id", "query-id", "q_id", "topic_id", "query", "question"}


def holds_candidates(path: Path) -> bool:
    """Returns whether a file has the form of a run or of top_ranked."""
    if is_parquet_file(path):
        return True
    try:
        _, line = next(_peek(path), (0, ""))
    except InputError:
        return False
    return line.lstrip().startswith("{") or len(SPACE.split(line.strip())) in (5, 6)


def is_book_file(path: Path) -> bool:
    """Returns whether a file is a book by its name."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def role_of_content(path: Path) -> Role | None:
    """Returns the role of a file; None if its first lines fit no role or several."""
    try:
        form = form_of_columns(path)
        if form in ("jsonl", "parquet", "arrow"):
            return _role_of_columns(column_names(path, form))
        for _, line in _peek(path):
            lowered = line.lstrip().lower()
            if re.match(r"<doc[\s>]", lowered):
                return "docs"
            if re.match(r"<top(?:ics?)?[\s>]", lowered):
                return "topics"
            if not lowered.startswith("<"):
                return _role_of_line(path, line)
    except InputError:  # binary or not readable, and not named by the user
        pass
    return None


def _role_of_line(path: Path, line: str) -> Role | None:
    fields = SPACE.split(line.strip())
    if len(fields) == 4 and re.fullmatch(r"[+-]?[0-9]+", fields[3]):
        return "qrels"
    form = form_of_columns(path)
    return None if form is None else _role_of_columns(column_names(path, form))


def _role_of_columns(names: list[str]) -> Role | None:
    if set(POOL_COLUMNS) <= set(names):
        return "pools"
    roles: list[Any] = roles_of(names)
    # An id and a title may belong to a list of the books, say.
    if roles == ["topics"] and not _QUERIES.intersection(names):
        return None
    # An id and a text may be of either kind: documents, unless the name of the file is that of topics.
    return roles[0] if roles else None


def _peek(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (number, line) of the first lines that are not blank."""
    count = 0
    for number, line in read_lines(path):
        if line.strip():
            yield number, line
            count += 1
        if count >= _PEEKED_LINES:
            return


def find_format(role: Role, path: Path) -> str:
    """Returns the format of a file, recognised by its first line.

    Raises:
        InputError: the file cannot be read, is empty, or has no known format.
    """
    table = form_of_table(path)
    if table is not None:
        return table
    is_book = role == "docs" and is_book_file(path)
    try:
        number, line = next(_peek(path), (0, ""))
    except InputError:  # not UTF-8, as many books
        if not is_book:
            raise
        return f"{BOOK}{LENGTH}"
    if not line:
        raise InputError("an empty file", file=path, remedy=f"name another with --{role}")
    start = line.lstrip()
    if role == "qrels":
        return form_of_judgments(path)
    if role == "pools":
        return "jsonl" if start.startswith("{") else "run"
    if start.startswith("<"):
        return "trec"
    if start.startswith("{"):
        return "jsonl"
    columns = line.split("\t")
    if len(columns) != 2 and form_of_columns(path) is not None:
        return "csv"
    if len(columns) > 1:
        return "tsv"
    if is_book:
        return f"{BOOK}{LENGTH}"
    raise InputError(
        f"{role} in an unknown format: not TREC SGML, JSON lines, CSV with a header, tab-separated text"
        " or Parquet",
        file=path,
        line=number,
        remedy="convert the JSON array to JSON lines, one object per line"
        if start.startswith("[")
        else "convert the file; the first line of a CSV names its columns, such as id,text, and a line of"
        " tab-separated text is an id, a tab and a text",
    )

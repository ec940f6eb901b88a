"""Readers of rows of two columns, an id and a text, as MS MARCO and spreadsheets write them."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.forms import column_mark
from irtoolkit.base.plurals import number_of

if TYPE_CHECKING:
    from _csv import Reader

# Names of fields; the first of them that the first record has is used for all records.
DOC_IDS = ("doc_id", "docno", "_id", "id", "docid", "corpus-id", "pid")
DOC_TEXTS = ("text", "contents", "content", "body", "passage", "document")
TITLE = "title"
# Names of columns in the header of tab-separated text, of documents and of topics.
HEADER_IDS = {*DOC_IDS, "qid", "query_id", "query-id", "topic_id", "topic", "did"}
HEADER_TEXTS = {*DOC_TEXTS, TITLE, "query", "question", "topic"}

# Characters of a field of CSV; Python's own limit is 131,072, and books are longer.
_LONGEST_FIELD = (1 << 31) - 1

_log = logging.getLogger(__name__)


def csv_rows(
    lines: Iterable[tuple[int, str]], head: str, path: Path, remedy: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yields (first line, fields) of rows whose columns are separated as a header's are.

    Between tabs quotes are part of a text, unless the header has quotes.

    Args:
        lines: (number, line without its end) pairs.
        head: the header.
        path: the file, for messages.
        remedy: what to do where a row is not CSV.

    Raises:
        InputError: a row is not CSV.
    """
    first = 0

    def ended() -> Iterator[str]:
        nonlocal first
        for number, line in lines:
            first = first or number
            yield f"{line}\n"

    reader = _reader(ended(), head)
    try:
        for row in iter(partial(_next_row, reader), None):
            yield first, row
            first = 0
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=first or 1, remedy=remedy) from None


def _reader(lines: Iterator[str], head: str) -> Reader:
    mark = column_mark(head)
    if mark == "\t" and '"' not in head:
        return csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=mark, strict=True)


def _next_row(reader: Reader) -> list[str] | None:
    """Returns the next row with fields of any length; Python has one limit for all readers."""
    usual = csv.field_size_limit(_LONGEST_FIELD)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(usual)


def tsv_rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yields (line, id, text) of tab-separated lines; skips blank lines and a header.

    A header is the first line and names the columns of ids and texts, for example `id` and `text`;
    after a blank line the same words are a row. If a semicolon or comma separates the columns of
    the header, as in spreadsheets, it separates those of all lines.

    Raises:
        InputError: a line has no tab or more than one; or a first line that names only the ids.
    """
    for number, fields in _fields(path):
        if len(fields) != 2:
            raise _not_two(fields, path, number)
        if number == 1 and _is_header(fields, path):
            continue
        yield number, fields[0], fields[1].strip()


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields (line, fields) of lines that are not blank."""
    lines = read_lines(path)
    head = next(lines, (1, ""))
    mark = column_mark(head[1])
    names = [name.strip(' "').lower() for name in head[1].split(mark)]
    all_lines = chain([head], lines)
    if (
        mark == "\t"
        or len(names) != 2
        or names[0] not in HEADER_IDS
        or names[1] not in HEADER_TEXTS
    ):
        yield from ((number, line.split("\t")) for number, line in all_lines if line.strip())
        return
    yield from ((number, row) for number, row in csv_rows(all_lines, head[1], path) if any(row))


def _not_two(fields: Sequence[str], path: Path, line: int) -> InputError:
    mark = column_mark(fields[0])
    if len(fields) == 1 and mark in fields[0]:
        problem = f"no tab; are the columns separated by {mark!r}?"
        remedy = f"put the line id{mark}text above them, or save the sheet as text with tabs"
    else:
        problem = f"{number_of(len(fields) - 1, 'tabs')} instead of 1"
        remedy = "a line is an id, a tab and a text without tabs; use JSON lines for titles"
    return InputError(problem, file=path, line=line, remedy=remedy)


def _is_header(fields: Sequence[str], path: Path) -> bool:
    """Returns whether a first line names the columns of ids and texts.

    Raises:
        InputError: it names only the ids.
    """
    names = [field.strip().lower() for field in fields]
    if names[0] not in HEADER_IDS:
        return False
    if names[1] in HEADER_TEXTS:
        _log.warning("%s:1: %r is the header, and not a row", path, list(fields))
        return True
    raise InputError(
        f"the first line may be a header or a row: {fields[0]!r} names ids, {fields[1]!r:.60} no texts",
        file=path,
        line=1,
        remedy="a header is id, tab, text; if this is a row, put a blank line above it",
    )

"""Sheets: tab-separated tables of pairs, in which people write grades."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines
from irtoolkit.base.forms import column_mark
from irtoolkit.base.paths import StrPath
from irtoolkit.runs.trec import parse_qrels

# A query id and a document id.
Pair = tuple[str, str]
KEYS = ("query_id", "doc_id")
GRADE = "grade"
# What an annotator writes where a pair cannot be judged; the release has such ratings.
UNJUDGED = -1

# Writes the fields of a row between tabs.
Row = Mapping[str, str]


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Writes a sheet; one row is one line, so that an error can name it."""
    with atomic_text(path) as out:
        out.write("\ufeff")  # with a byte order mark, spreadsheets read it as UTF-8
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([" ".join(row.get(name, "").split()) for name in columns] for row in rows)


def is_sheet(path: StrPath) -> bool:
    """Returns whether a file begins as a sheet does, and not as TREC qrels."""
    first = next(iter(read_lines(path)), (1, ""))[1]
    return column_mark(first) in first and KEYS[0] in first


def read_sheet(path: StrPath, columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (line, row) of a sheet; other columns may have been removed from it.

    Args:
        path: the sheet.
        columns: those that are needed besides the ids and the grade.

    Raises:
        InputError: no such column; a row with more or fewer fields.
    """
    lines = read_lines(path)
    head = next(lines, (1, ""))
    rows = (line for _, line in chain([head], lines))
    reader = csv.reader(rows, delimiter=column_mark(head[1]))
    needed = (*KEYS, GRADE, *columns)
    try:
        names = next(reader, [])
        absent = [name for name in needed if names.count(name) != 1]
        if absent:
            raise InputError(
                f"no column {absent[0]}",
                file=path,
                line=1,
                remedy=f"a sheet has tabs between its columns, among them {', '.join(needed)}",
            )
        for row in reader:
            if not any(row):
                continue
            if len(row) != len(names):
                raise InputError(
                    f"{len(row)} fields, and {len(names)} columns",
                    file=path,
                    line=reader.line_num,
                    remedy="a row is one line, with a tab between two columns",
                )
            yield reader.line_num, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise InputError(f"a broken row: {error}", file=path, line=reader.line_num or 1) from None


def read_grades(
    path: StrPath, refuse: Callable[[Pair], str], least: int = UNJUDGED
) -> dict[Pair, int | None]:
    """Returns the grades of a sheet, or of TREC qrels; None if a sheet has none yet.

    Args:
        path: the file; its first line shows which it is.
        refuse: returns what is wrong with a pair, or "".
        least: the lowest grade: 0, or -1 if a pair need not be judged.

    Raises:
        InputError: another grade than 0 to 3, or a pair that is refused or repeated; with the line.
    """
    grades: dict[Pair, int | None] = {}
    for line, pair, text in _rows(path):
        problem, remedy = refuse(pair), None
        if not problem and pair in grades:
            problem = f"{pair[1]} is graded twice for {pair[0]}"
        if not problem and text and not _is_grade(text, least):
            problem = f"the grade of {pair[1]} for {pair[0]} is {text!r}"
            remedy = "grades are 0, 1, 2 and 3"
            remedy += f", and {least} for what you cannot judge" if least < 0 else ""
        if problem:
            raise InputError(problem, file=path, line=line, remedy=remedy)
        grades[pair] = int(text) if text else None
    return grades


def _rows(path: StrPath) -> Iterator[tuple[int, Pair, str]]:
    if is_sheet(path):
        for line, row in read_sheet(path):
            yield line, (row[KEYS[0]].strip(), row[KEYS[1]].strip()), row[GRADE].strip()
        return
    columns = parse_qrels(path)
    for line, query, doc, grade in zip(
        columns.lines, columns.queries, columns.docs, columns.grades, strict=True
    ):
        yield int(line), (columns.query_ids[query], columns.doc_ids[doc]), str(grade)


def _is_grade(text: str, least: int) -> bool:
    return text in {str(grade) for grade in range(least, 4)}

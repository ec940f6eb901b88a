"""Sheets of pairs of a query and a document, in which people write grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from irtoolkit.base import sheets
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.forms import column_mark
from irtoolkit.base.paths import StrPath
from irtoolkit.runs.trec import parse_qrels

# A query id and a document id.
Pair = tuple[str, str]
KEYS = ("query_id", "doc_id")
GRADE = "grade"
# The grade of a pair that an annotator cannot judge; the release has such ratings.
UNJUDGED = -1


def read_sheet(path: StrPath, columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (line, row) of a sheet.

    Args:
        path: the sheet.
        columns: those that are needed besides the ids and the grade.

    Raises:
        InputError: see `irtoolkit.base.sheets.read_sheet`.
    """
    needed = (*KEYS, GRADE, *columns)
    remedy = f"a sheet has tabs between its columns, among them {', '.join(needed)}"
    return sheets.read_sheet(path, needed, remedy)


def read_grades(
    path: StrPath, problem_of: Callable[[Pair], str], least: int = UNJUDGED
) -> dict[Pair, int | None]:
    """Returns the grades of a sheet, or of TREC qrels; None if a sheet has none yet.

    Args:
        path: the file; its first line shows which it is.
        problem_of: returns what is wrong with a pair, or "".
        least: the lowest grade: 0, or -1 if a pair need not be judged.

    Raises:
        InputError: another grade than 0 to 3, or a pair that is wrong or repeated; with the line.
    """
    grades: dict[Pair, int | None] = {}
    allowed = {str(grade) for grade in range(least, 4)}
    for line, pair, text in _rows(path):
        problem, remedy = problem_of(pair), None
        if not problem and pair in grades:
            problem = f"{pair[1]} is graded twice for {pair[0]}"
        if not problem and text and text not in allowed:
            problem = f"the grade of {pair[1]} for {pair[0]} is {text!r}"
            remedy = "grades are 0, 1, 2 and 3"
            remedy += f", and {least} for what you cannot judge" if least < 0 else ""
        if problem:
            raise InputError(problem, file=path, line=line, remedy=remedy)
        grades[pair] = int(text) if text else None
    return grades


def _rows(path: StrPath) -> Iterator[tuple[int, Pair, str]]:
    """Yields (line, pair, grade); a file begins as a sheet does, or it is TREC qrels."""
    head = next(iter(read_lines(path)), (1, ""))[1]
    if column_mark(head) in head and KEYS[0] in head:
        for line, row in read_sheet(path):
            yield line, (row[KEYS[0]].strip(), row[KEYS[1]].strip()), row[GRADE].strip()
        return
    columns = parse_qrels(path)
    for line, query, doc, grade in zip(
        columns.lines, columns.queries, columns.docs, columns.grades, strict=True
    ):
        yield int(line), (columns.query_ids[query], columns.doc_ids[doc]), str(grade)

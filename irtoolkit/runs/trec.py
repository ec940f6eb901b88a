"""A strict parser of TREC runs and qrels, which reports each problem with its line.

Files in which every line is regular are read column-wise by pyarrow. Any other file goes through a
line-by-line parser, which accepts every valid file and reports the errors of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, local, read_lines
from irtoolkit.base.ids import SPACE, UNFIT, Floats, Ids, Ints, Singles, encode
from irtoolkit.base.plurals import number_of
from irtoolkit.runs.columns import (
    QREL_FIELDS,
    RUN_FIELDS,
    QrelColumns,
    RunColumns,
    finite_number,
    whole_number,
)
from irtoolkit.runs.fast_trec import read_regular
from irtoolkit.runs.precision import Precision, compared_in

# Handles a problem of a file: raises it, or stores it so that reading continues.
ProblemHandler = Callable[[InputError], None]

# Comment lines around an ir_metadata record that is written into a run file.
HEADER_START, HEADER_END = "# ir_metadata.start", "# ir_metadata.end"
# Grades that are higher are ids or numbers of another column rather than grades.
MAX_GRADE = 1_000_000
# What to do where ranks and scores contradict each other.
ORDER_REMEDY = (
    "trec_eval orders by score, highest first, and ignores ranks: negate distances, or renumber"
)
_COMMENT_REMEDY = "remove it: trec_eval ignores comments from version 10 on, other tools do not"
_ITERATION = re.compile(r"Q?[0-9]+", re.IGNORECASE)


def raise_error(error: InputError) -> None:
    """Raises the first problem: the strict handler."""
    raise error


def parse_run(
    path: StrPath, report: ProblemHandler = raise_error, precision: Precision = "single"
) -> RunColumns:
    """Reads `qid Q0 docid rank score tag` lines.

    Args:
        path: text, plain or packed; fields are separated by spaces or tabs. An ir_metadata header at
            the top is skipped.
        report: called with each problem. The default raises it; with a handler that returns, the
            bad row is skipped and reading continues.
        precision: how scores are compared. With "double", they are returned in single precision, but
            in their double-precision order, without ties.

    Raises:
        InputError: a line without 6 fields, a rank that is not a whole number, a score that is not
            a finite number, a document listed twice for a query, ranks that contradict the scores,
            or no rows.
    """
    path = local(path)
    columns = read_regular(path, precision) or _careful_run(path, report, precision)
    if not len(columns.lines):
        report(InputError("no rows", file=path, remedy="a run needs at least one line"))
    _report_duplicates(path, columns, report)
    _report_contradictions(path, columns, report)
    scores = compared_in(precision, columns.queries, columns.doc_ids, columns.docs, columns.scores)
    return replace(columns, scores=scores)


def parse_qrels(path: StrPath, report: ProblemHandler = raise_error) -> QrelColumns:
    """Reads `qid iteration docid grade` lines; arguments as for `parse_run`.

    Raises:
        InputError: a line without 4 fields, a grade that is not a whole number from -1,000,000 to 1,000,000,
            a document judged twice for a query, or no rows.
    """
    lines: list[int] = []
    rows: list[tuple[str, str, int]] = []
    for number, fields in _fields(path, QREL_FIELDS, report):
        grade = whole_number(fields[3])
        if grade is None or abs(grade) > MAX_GRADE:
            report(
                InputError(
                    f"grade {fields[3]!r} is not a whole number between -{MAX_GRADE:,} and {MAX_GRADE:,}",
                    file=path,
                    line=number,
                    remedy="other tools would cut it off: use small integer grades, or BEIR's form for fractions",
                )
            )
            continue
        lines.append(number)
        rows.append((fields[0], fields[2], grade))
    query_ids, queries = encode(row[0] for row in rows)
    doc_ids, docs = encode(row[1] for row in rows)
    grades = np.array([row[2] for row in rows], dtype=np.int64)
    columns = QrelColumns(
        np.array(lines, dtype=np.int64), query_ids, queries, doc_ids, docs, grades
    )
    if not lines:
        report(InputError("no rows", file=path, remedy="give a file that has some"))
    _report_duplicates(path, columns, report)
    return columns


def _fields(
    path: StrPath, names: tuple[str, ...], report: ProblemHandler
) -> Iterator[tuple[int, list[str]]]:
    lines = read_lines(path, empty=False)
    for number, line in _after_header(lines, path, report) if names is RUN_FIELDS else lines:
        fields = [field for field in SPACE.split(line) if field]
        unfit = UNFIT.search(line)
        if unfit is not None:
            problem = f"the line holds the character U+{ord(unfit[0]):04X}"
            remedy = "it is invisible, and ends the field for other tools: remove it"
        elif not fields:
            continue
        elif _is_comment(fields, names):
            problem, remedy = "a comment", _COMMENT_REMEDY
        elif len(fields) != len(names):
            problem = f"{number_of(len(fields), 'fields')} instead of {len(names)}"
            remedy = f"a line is: {' '.join(names)}"
            if names is RUN_FIELDS and len(fields) == len(QREL_FIELDS):
                remedy += "; judgments have lines like this one, and are no run"
            if len(fields) > len(names) and names is RUN_FIELDS:
                remedy += "; ids and tags are one word, and trec_eval ignores what follows them"
        else:
            yield number, fields
            continue
        report(InputError(problem, file=path, line=number, remedy=remedy))


def _is_comment(fields: list[str], names: tuple[str, ...]) -> bool:
    """Returns whether a line begins with # and is not a row of a query whose id does."""
    if not fields[0].startswith("#"):
        return False
    if names is QREL_FIELDS:
        return len(fields) != len(names) or not _ITERATION.fullmatch(fields[1])
    return len(fields) != len(names) or whole_number(fields[3]) is None


def _after_header(
    lines: Iterator[tuple[int, str]], path: StrPath, report: ProblemHandler
) -> Iterator[tuple[int, str]]:
    """Yields the lines of a run without the ir_metadata header at its top."""
    inside = False
    for number, line in lines:
        if number == 1 and line.rstrip() == HEADER_START:
            inside = True
        elif inside and line.startswith("#"):
            inside = line.rstrip() != HEADER_END
        else:
            if inside:
                inside = False
                report(
                    InputError(
                        "the ir_metadata header does not end",
                        file=path,
                        line=number,
                        remedy=f"close it with the line {HEADER_END!r}",
                    )
                )
            yield number, line


def _careful_run(path: StrPath, report: ProblemHandler, precision: Precision) -> RunColumns:
    lines: list[int] = []
    rows: list[tuple[str, str, str, str]] = []
    ranks: list[int] = []
    scores: list[float] = []
    for number, fields in _fields(path, RUN_FIELDS, report):
        rank, score = whole_number(fields[3]), finite_number(fields[4])
        if rank is None:
            problem, remedy = f"rank {fields[3]!r} is not a whole number", "number ranks from 1"
        elif score is None:
            problem = f"score {fields[4]!r} is not a finite single-precision number"
            remedy = "trec_eval would read it as 0 or sort it anywhere"
        else:
            lines.append(number)
            rows.append((fields[0], fields[2], fields[1], fields[5]))
            ranks.append(rank)
            scores.append(score)
            continue
        report(InputError(problem, file=path, line=number, remedy=remedy))
    query_ids, queries = encode(row[0] for row in rows)
    doc_ids, docs = encode(row[1] for row in rows)
    iterations, iteration = encode(row[2] for row in rows)
    tags, tag = encode(row[3] for row in rows)
    return RunColumns(
        np.array(lines, dtype=np.int64),
        query_ids,
        queries,
        doc_ids,
        docs,
        np.array(ranks, dtype=np.int64),
        np.array(scores, np.float32) if precision == "single" else np.array(scores, np.float64),
        iterations,
        iteration,
        tags,
        tag,
    )


def _report_duplicates(
    path: StrPath, columns: RunColumns | QrelColumns, report: ProblemHandler
) -> None:
    pairs = columns.queries * (len(columns.doc_ids) + 1) + columns.docs
    ascending = np.sort(pairs)
    if not (ascending[1:] == ascending[:-1]).any():
        return
    order = np.argsort(pairs, kind="stable")
    twins = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
    for row, first in sorted(zip(order[twins + 1], order[twins], strict=True)):
        query, doc = columns.query_ids[columns.queries[row]], columns.doc_ids[columns.docs[row]]
        report(
            InputError(
                f"document {doc} is listed twice for query {query}, first at line {columns.lines[first]}",
                file=path,
                line=int(columns.lines[row]),
                remedy="keep one of the two lines",
            )
        )


def _report_contradictions(path: StrPath, columns: RunColumns, report: ProblemHandler) -> None:
    """Reports rows that have a lower rank and a higher score than another row of their query."""
    for row, problem in contradictions(
        columns.query_ids, columns.queries, columns.ranks, columns.scores
    ):
        line = int(columns.lines[row])
        report(InputError(problem, file=path, line=line, remedy=ORDER_REMEDY))


def contradictions(
    query_ids: Ids, queries: Ints, ranks: Ints, scores: Singles | Floats
) -> Iterator[tuple[int, str]]:
    """Yields each row with a lower rank and a higher score than another of its query, and why."""
    if _in_order(queries, ranks, scores):
        return
    order = np.lexsort((-scores, ranks, queries))
    query, rank, score = (a[order] for a in (queries, ranks, scores))
    wrong = (query[1:] == query[:-1]) & (rank[1:] != rank[:-1]) & (score[1:] > score[:-1])
    for index in np.flatnonzero(wrong):
        problem = f"rank {rank[index + 1]} has a higher score than rank {rank[index]}"
        yield int(order[index + 1]), f"{problem} in query {query_ids[query[index]]}"


def _in_order(query: Ints, rank: Ints, score: Singles | Floats) -> bool:
    """Returns whether ranks rise and scores fall line by line in each query, as usual."""
    within = (rank[1:] >= rank[:-1]) & (score[1:] <= score[:-1])
    return bool(np.where(query[1:] == query[:-1], within, query[1:] > query[:-1]).all())

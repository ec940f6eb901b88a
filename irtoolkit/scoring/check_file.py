"""Checks of a run file by itself: tag, form of the rows, ids, ranks, ties."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_gzip, is_parquet, local
from irtoolkit.base.forms import encoding, head_of, is_parquet_file, packing
from irtoolkit.base.ids import NO_WORD, Ints, id_array, offsets_of
from irtoolkit.measures.judged import within
from irtoolkit.runs import Run, trec
from irtoolkit.runs.columns import RunColumns
from irtoolkit.runs.order import keys, row_order
from irtoolkit.runs.precision import Precision
from irtoolkit.runs.trec import ProblemHandler

# White space of other scripts than ASCII's, and control characters of eight bits. trec_eval reads an id
# with them as it is, since isspace of the C locale knows none; Python's str.split() ends it there.
_ODD = re.compile(r"[\x80-\x9f]|(?![\x00-\x7f])\s")
# Of an empty text, and of characters that end a field.
_NO_FIELD = re.compile(rf"\A\Z|{NO_WORD.pattern}")


@dataclass(frozen=True)
class Strictness:
    """Requirements on a file beyond those that make it a run.

    Attributes:
        tag: the format of the run tag, as a regular expression and in words; None allows any.
        iterations: allowed values of the second field.
        depth: the most rows of a query, unless another number is given.
        exact_ranks: whether ranks must count the rows of a query from 1 (or from 0) in trec_eval's
            order, so that tied documents in another order are a problem.
        plain_ids: whether characters at which some tools, unlike trec_eval, end an id are a problem.
    """

    tag: tuple[str, str] | None = None
    iterations: tuple[str, ...] = ("Q0", "0")
    depth: int | None = None
    exact_ranks: bool = False
    plain_ids: bool = False


# "usual": needed by any evaluation. "trec": required by the check scripts of TREC's tracks. Their
# forms of a tag differ: 1 to 12 letters and digits in early years, 1 to 25 with - and _ in 2022;
# most accept 20 with - _ . The requirement on ranks is our own, since those scripts ignore ranks.
STRICTNESS = {
    "usual": Strictness(),
    "trec": Strictness(
        ("[A-Za-z0-9_.-]{1,20}", "1 to 20 letters, digits, - _ ."), ("Q0",), 1000, True, True
    ),
}


# Forms of a file, by its first bytes and by its name.
_PARQUET, _GZIP, _TEXT = "Parquet", "gzip", "plain text"


@dataclass(frozen=True)
class RunFile:
    """The rows of a run file, and the handler of its problems.

    Attributes:
        path: the file.
        columns: its rows, as parallel arrays in file order.
        report: takes each problem; it raises or collects them.
    """

    path: StrPath
    columns: RunColumns
    report: ProblemHandler

    @classmethod
    def read(
        cls, path: StrPath, report: ProblemHandler, precision: Precision = "single"
    ) -> RunFile:
        """Reads TREC text, or a Parquet file as if its rows were lines.

        Raises:
            InputError: the file cannot be read.
        """
        path = local(path)
        if not is_parquet_file(path):
            return cls(path, trec.parse_run(path, report, precision), report)
        run = Run.read(path, precision)
        numbers = np.arange(1, len(run) + 1)
        constant = np.zeros(len(run), dtype=np.int64)
        columns = RunColumns(
            numbers,
            run.query_ids,
            run.queries,
            run.doc_ids,
            run.docs.astype(np.int64),
            run.ranks,
            run.scores,
            id_array(["Q0"]),
            constant,
            id_array([run.tag]),
            constant,
        )
        return cls(path, columns, report)

    def report_row(self, row: int, problem: str, remedy: str) -> None:
        """Reports a problem of a row."""
        self.report_line(int(self.columns.lines[row]), problem, remedy)

    def report_line(self, line: int, problem: str, remedy: str) -> None:
        """Reports a problem of a line."""
        self.report(InputError(problem, file=self.path, line=line, remedy=remedy))


def check_form(file: RunFile) -> None:
    """Reports a file that is read here, and that trec_eval and TREC would not read by its name."""
    head = head_of(local(file.path))
    problem = encoding(head) or packing(head)
    if problem is None:
        problem = _PARQUET if is_parquet_file(local(file.path)) else _TEXT
    name = _PARQUET if is_parquet(file.path) else _GZIP if is_gzip(file.path) else _TEXT
    if problem == name:
        return
    remedy = "other tools read UTF-8 text, plain or in a .gz"
    if problem == _TEXT:
        remedy = f"give it a name without {'.parquet' if name == _PARQUET else '.gz'}"
    elif problem == _PARQUET:
        remedy = f"give it a name that ends in .parquet; {remedy}"
    file.report_line(
        1, f"the file is {problem}" + (f", not {name}" if name != _TEXT else ""), remedy
    )


def check_tag(file: RunFile, strict: Strictness, tag: str | None) -> None:
    """Reports a tag that TREC does not accept, and a second tag.

    Args:
        file: the run.
        strict: the required form of the tag.
        tag: the tag that replaces the run's own, if any.
    """
    columns = file.columns
    first = str(columns.tags[columns.tag[0]]) if tag is None else tag
    if strict.tag is not None and re.fullmatch(strict.tag[0], first) is None:
        file.report_row(0, f"TREC does not accept the tag {first!r}", f"use {strict.tag[1]}")
    if tag is None and len(columns.tags) > 1:
        row = int(np.argmax(columns.tag != columns.tag[0]))
        second = columns.tags[columns.tag[row]]
        file.report_row(
            row, f"a second tag {second!r} after {first!r}", "one file holds one system"
        )


def check_rows(file: RunFile, strict: Strictness, depth: int | None) -> None:
    """Reports the first wrong second field, and queries with more than `depth` rows."""
    columns = file.columns
    strange = np.array([name not in strict.iterations for name in columns.iterations], dtype=bool)
    for row in np.flatnonzero(strange[columns.iteration])[:1]:
        field = columns.iterations[columns.iteration[row]]
        file.report_row(row, f"the second field is {field!r}", "it is Q0 in TREC runs")
    if depth is None:
        return
    counts = np.bincount(columns.queries, minlength=len(columns.query_ids))
    for query in np.flatnonzero(counts > depth):
        file.report_row(
            np.flatnonzero(columns.queries == query)[depth],
            f"query {columns.query_ids[query]} has {counts[query]} documents, more than {depth}",
            "truncate the ranking",
        )


def check_ids(file: RunFile) -> None:
    """Reports ids that cannot be one field of TREC text, each at its first line.

    TREC text with such ids is refused by its reader. Parquet may hold them, since white space does
    not end its ids; but runs for submission are text.
    """
    _report_ids(
        file,
        _NO_FIELD,
        "no field of TREC text can hold it: rename it, or keep the run in Parquet",
    )


def check_odd_ids(file: RunFile) -> None:
    """Reports ids that are one field for trec_eval and several for other tools, each at its first line."""
    _report_ids(file, _ODD, "trec_eval reads the id as it is, other tools end it there: rename it")


def _report_ids(file: RunFile, characters: re.Pattern[str], remedy: str) -> None:
    columns = file.columns
    named = (
        ("topic", columns.query_ids, columns.queries),
        ("document", columns.doc_ids, columns.docs),
        ("tag", columns.tags, columns.tag),
    )
    for kind, names, codes in named:
        for code, name in enumerate(names):
            match = characters.search(name)
            if match is not None:
                problem = (
                    f"{name!r} holds the character U+{ord(match[0]):04X}" if name else "is empty"
                )
                row = int(np.argmax(codes == code))
                file.report_row(row, f"the {kind} {problem}", remedy)


def check_ranks(file: RunFile, strict: Strictness) -> None:
    """Reports the first rank of each query that occurs with two scores.

    With `exact_ranks`, reports the first rank that is repeated or not in sequence.
    """
    columns = file.columns
    order = np.lexsort((columns.lines, -columns.scores, columns.ranks, columns.queries))
    query, rank, score = columns.queries[order], columns.ranks[order], columns.scores[order]
    same = (query[1:] == query[:-1]) & (rank[1:] == rank[:-1])
    if not strict.exact_ranks:
        same &= score[1:] != score[:-1]
    wrong: dict[int, tuple[int, str]] = {}
    if strict.exact_ranks:
        positions = within(offsets_of(query, len(columns.query_ids)))
        # Some systems count from 0.
        zero = (np.bincount(query[rank == 0], minlength=len(columns.query_ids)) > 0)[query]
        expected = positions - zero
        for index in _firsts(query, np.flatnonzero(rank != expected)):
            wrong[int(query[index])] = (
                order[index],
                f"rank {rank[index]} instead of {expected[index]}",
            )
    for index in _firsts(query, np.flatnonzero(same)):
        twin, row = sorted(order[index : index + 2].tolist())
        problem = f"rank {rank[index]} occurs twice, first at line {columns.lines[twin]},"
        wrong[int(query[index])] = (row, problem)
    for code, (row, problem) in wrong.items():
        file.report_row(
            row,
            f"{problem} in query {columns.query_ids[code]}",
            "number the rows of a query from 1, the highest score first",
        )


def check_ties(file: RunFile) -> None:
    """Reports the first tie of each query whose ranks are not in trec_eval's order."""
    columns = file.columns
    # By score and then by rank, the lowest first.
    order = row_order(columns.queries, columns.scores, -columns.ranks)
    query, rank, score = columns.queries[order], columns.ranks[order], columns.scores[order]
    key = keys(columns.doc_ids)[columns.docs[order]]
    tied = (query[1:] == query[:-1]) & (score[1:] == score[:-1])
    wrong = np.flatnonzero(tied & (rank[1:] != rank[:-1]) & (key[1:] > key[:-1]))
    for index in _firsts(query, wrong):
        above, below = (columns.doc_ids[columns.docs[row]] for row in order[index : index + 2])
        file.report_row(
            order[index + 1],
            f"documents {above} and {below} tie in query {columns.query_ids[query[index]]},"
            " and trec_eval orders them against their ranks",
            "lower the score of the second a little: tools break ties in different ways",
        )


def _firsts(groups: Ints, rows: Ints) -> list[int]:
    """Returns the first of some rows in each group."""
    _, firsts = np.unique(groups[rows], return_index=True)
    first_rows: list[int] = rows[firsts].tolist()
    return first_rows

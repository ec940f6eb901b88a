"""TREC text, read strictly: what is wrong is named with its line, never repaired in silence.

Files are read column-wise by pyarrow, which accepts only what is plainly regular. Anything else
goes through a line-by-line parser that accepts every valid file and names what is wrong in the
others, so speed and good errors come from two short functions instead of one long one.
"""

from __future__ import annotations

import gzip
import mmap
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_gzip, read_lines
from irtoolkit.base.ids import SPACE, Ids, Ints, encode, is_word

Report = Callable[[InputError], None]

RUN_FIELDS = ("query", "iteration", "document", "rank", "score", "tag")
QREL_FIELDS = ("query", "iteration", "document", "grade")
# What an ir_metadata record stands between that is written into a run file, in comment lines.
HEADER_START, HEADER_END = "# ir_metadata.start", "# ir_metadata.end"
# trec_eval allocates an array as long as the largest grade, and hangs on 10^9.
MAX_GRADE = 1000


def raise_error(error: InputError) -> None:
    """The strict way to take a report: stop at the first."""
    raise error


Codes = NDArray[np.int32] | Ints


@dataclass(frozen=True)
class RunColumns:
    """The rows of a TREC run in file order. Arrays are parallel; `lines` counts from 1."""

    lines: Ints
    query_ids: Ids
    queries: Ints
    doc_ids: Ids
    docs: Ints
    ranks: Ints
    scores: NDArray[np.float32]
    iterations: Ids
    iteration: Codes
    tags: Ids
    tag: Codes


@dataclass(frozen=True)
class QrelColumns:
    """The rows of TREC qrels in file order."""

    lines: Ints
    query_ids: Ids
    queries: Ints
    doc_ids: Ids
    docs: Ints
    grades: Ints


def read_run(path: StrPath, report: Report = raise_error) -> RunColumns:
    """Reads `qid Q0 docid rank score tag` lines.

    Args:
        path: plain text or .gz; fields separated by spaces or tabs. An ir_metadata header at the
            top is passed over.
        report: called with each problem. The default raises it; one that returns makes the
            reader skip the bad row and go on.

    Raises:
        InputError: not 6 fields, a rank that is no whole number, a score that is no finite
            number, a document listed twice for a query, ranks that contradict the scores,
            or no rows at all.
    """
    columns = _fast_run(path) or _careful_run(path, report)
    if not len(columns.lines):
        report(InputError("no rows", file=path, remedy="a run needs at least one line"))
    _report_duplicates(path, columns, report)
    _report_contradictions(path, columns, report)
    return columns


def read_qrels(path: StrPath, report: Report = raise_error) -> QrelColumns:
    """Reads `qid iteration docid grade` lines; arguments as for `read_run`.

    Raises:
        InputError: not 4 fields, a grade that is no whole number of magnitude up to 1000, a
            document judged twice for a query, or no rows at all.
    """
    lines: list[int] = []
    rows: list[tuple[str, str, int]] = []
    for number, fields in _fields(path, QREL_FIELDS, report):
        grade = _whole(fields[3])
        if grade is None or abs(grade) > MAX_GRADE:
            report(
                InputError(
                    f"grade {fields[3]!r} is not a whole number between -{MAX_GRADE} and {MAX_GRADE}",
                    file=path,
                    line=number,
                    remedy="trec_eval would truncate or hang on it: use small integer grades",
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
        report(InputError("no rows", file=path, remedy="qrels need at least one line"))
    _report_duplicates(path, columns, report)
    return columns


def _fields(
    path: StrPath, names: tuple[str, ...], report: Report
) -> Iterator[tuple[int, list[str]]]:
    lines = read_lines(path)
    for number, line in _after_header(lines, path, report) if names is RUN_FIELDS else lines:
        fields = [field for field in SPACE.split(line) if field]
        if len(fields) == len(names):
            yield number, fields
        elif fields:
            report(
                InputError(
                    f"{len(fields)} fields instead of {len(names)}",
                    file=path,
                    line=number,
                    remedy=f"a line is: {' '.join(names)}",
                )
            )
        # A blank line says nothing and loses nothing.


def _after_header(
    lines: Iterator[tuple[int, str]], path: StrPath, report: Report
) -> Iterator[tuple[int, str]]:
    """The lines of a run but for an ir_metadata header at its top."""
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


def _whole(text: str) -> int | None:
    """A whole number of a size that 64 bits hold, or None."""
    return int(text) if _INTEGER.fullmatch(text) else None


def _finite(text: str) -> float | None:
    """The float32 value of a decimal number as C's atof understands it, or None."""
    if _DECIMAL.fullmatch(text) is None:
        return None
    with np.errstate(over="ignore"):
        value = np.float32(text)
    return float(value) if np.isfinite(value) else None


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _careful_run(path: StrPath, report: Report) -> RunColumns:
    lines: list[int] = []
    rows: list[tuple[str, str, str, str]] = []
    ranks: list[int] = []
    scores: list[float] = []
    for number, fields in _fields(path, RUN_FIELDS, report):
        rank, score = _whole(fields[3]), _finite(fields[4])
        if rank is None:
            found, remedy = f"rank {fields[3]!r} is not a whole number", "number ranks from 1"
        elif score is None:
            found = f"score {fields[4]!r} is not a finite single-precision number"
            remedy = "trec_eval would read it as 0 or sort it anywhere"
        else:
            lines.append(number)
            rows.append((fields[0], fields[2], fields[1], fields[5]))
            ranks.append(rank)
            scores.append(score)
            continue
        report(InputError(found, file=path, line=number, remedy=remedy))
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
        np.array(scores, dtype=np.float32),
        iterations,
        iteration,
        tags,
        tag,
    )


def _fast_run(path: StrPath) -> RunColumns | None:
    """The columns of a perfectly regular file, or None for any other."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    text = pa.dictionary(pa.int32(), pa.string())
    # Ranks as text: pyarrow would take 0x1F for a whole number.
    kinds = dict.fromkeys(RUN_FIELDS, text) | {"document": pa.string(), "score": pa.float64()}
    try:
        data = _plain_bytes(path)
        if data is None:
            return None
        head = bytes(data[:4096]).partition(b"\n")[0]
        table = pacsv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            pacsv.ReadOptions(column_names=list(RUN_FIELDS), block_size=1 << 24),
            pacsv.ParseOptions(
                delimiter="\t" if b"\t" in head else " ",
                quote_char=False,
                double_quote=False,
                ignore_empty_lines=False,
            ),
            pacsv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowInvalid, OSError, EOFError, zlib.error):
        return None
    # Of many documents one dictionary is made faster than one for each block, to be unified.
    documents = table["document"].dictionary_encode()
    table = table.set_column(RUN_FIELDS.index("document"), "document", documents)
    table = table.unify_dictionaries()
    column = {name: table[name].combine_chunks() for name in RUN_FIELDS}
    del table, documents
    names = {
        name: np.array(column[name].dictionary.to_pylist(), dtype=object)
        for name in RUN_FIELDS
        if name != "score"
    }
    ranks = [_whole(name) for name in names["rank"]]
    with np.errstate(over="ignore"):
        scores = column["score"].to_numpy().astype(np.float32)
    # An empty or blank-padded field is an irregular line that only happened to split in six.
    regular = all(is_word(name) for ids in names.values() for name in ids)
    if None in ranks or not regular or not np.isfinite(scores).all():
        return None
    codes = {name: column[name].indices.to_numpy() for name in names}
    return RunColumns(
        np.arange(1, len(scores) + 1),
        names["query"],
        codes["query"].astype(np.int64),
        names["document"],
        codes["document"].astype(np.int64),
        np.array(ranks, dtype=np.int64)[codes["rank"]],
        scores,
        names["iteration"],
        codes["iteration"],
        names["tag"],
        codes["tag"],
    )


def _plain_bytes(path: StrPath) -> bytes | mmap.mmap | None:
    """A file's content, unpacked; None when it is empty or a CR stands inside a line."""
    if is_gzip(path):
        with gzip.open(path, "rb") as packed:
            return _lines_only(packed.read())
    with open(path, "rb") as raw:
        if not os.fstat(raw.fileno()).st_size:
            return None
        mapped = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
    return mapped if mapped.find(b"\r") < 0 else _lines_only(bytes(mapped))


def _lines_only(data: bytes) -> bytes | None:
    """The data, or None when a CR stands in it elsewhere than at the end of a line."""
    return data if data and data.count(b"\r") == data.count(b"\r\n") else None


def _report_duplicates(path: StrPath, columns: RunColumns | QrelColumns, report: Report) -> None:
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


def _report_contradictions(path: StrPath, columns: RunColumns, report: Report) -> None:
    """Rows whose rank says lower but whose score says higher than another's, per query."""
    if _in_order(columns):
        return
    order = np.lexsort((-columns.scores, columns.ranks, columns.queries))
    query, rank, score = (a[order] for a in (columns.queries, columns.ranks, columns.scores))
    wrong = (query[1:] == query[:-1]) & (rank[1:] != rank[:-1]) & (score[1:] > score[:-1])
    for at in np.flatnonzero(wrong):
        report(
            InputError(
                f"rank {rank[at + 1]} has a higher score than rank {rank[at]}"
                f" in query {columns.query_ids[query[at]]}",
                file=path,
                line=int(columns.lines[order[at + 1]]),
                remedy="trec_eval orders by score, highest first, and ignores ranks:"
                " negate distances, or renumber",
            )
        )


def _in_order(columns: RunColumns) -> bool:
    """Whether ranks rise and scores fall from line to line of each query: then all is well."""
    query, rank, score = columns.queries, columns.ranks, columns.scores
    within = (rank[1:] >= rank[:-1]) & (score[1:] <= score[:-1])
    return bool(np.where(query[1:] == query[:-1], within, query[1:] > query[:-1]).all())

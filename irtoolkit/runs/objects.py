"""Rows of runs and judgments, read from the objects that other libraries and plain Python have.

Accepted are nested dicts, data frames (pandas, polars), ranx's Run and Qrels, ir_measures' and
ir_datasets' records, and iterables of tuples. No other library is imported for that: its objects
are recognised by their attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.frames import columns_of, frame_columns, is_frame
from irtoolkit.base.plurals import number_of

Triple = tuple[str, str, Any]

# Names of the columns of data frames, CSV and Parquet; the first one that occurs is read.
_QUERIES = ("qid", "query_id", "q_id", "query-id", "topic_id", "topic")
_DOCS = ("docno", "doc_id", "corpus-id", "docid", "did", "pid")


@dataclass(frozen=True)
class RowKind:
    """The meaning of rows of a query and a document: the score of a run, or a grade.

    Attributes:
        noun: the name of an object with such rows in messages.
        value: the name of the third value of a row in messages.
        columns: names of the column of values.
        attribute: name of a record's attribute that holds the value.
        nested: name of the attribute that holds the nested dict of ranx's class.
    """

    noun: str
    value: str
    columns: tuple[str, ...]
    attribute: str
    nested: str

    @property
    def expected(self) -> str:
        """The row that messages ask for."""
        return f"(query id, document id, {self.value})"


RUN = RowKind("run", "score", ("score",), "score", "run")
_GRADES = ("label", "relevance", "grade", "score", "rel")
QRELS = RowKind("qrels", "grade", _GRADES, "relevance", "qrels")


def rows_of(value: Any, kind: RowKind, *, empty: bool = False) -> list[Triple]:
    """Returns the (query id, document id, value) rows of an object.

    Args:
        value: {query id: {document id: value}}; a data frame; ranx's Run or Qrels; or an iterable
            of records with attributes, or of tuples.
        kind: `RUN` or `QRELS`.
        empty: whether a data frame or iterable without rows is accepted, as an empty dict is.

    Returns:
        The rows in their original order, ids as text, values unchanged.

    Raises:
        InputError: the object is none of these; a data frame without the columns; no rows; a row of
            another length, or without an id.
    """
    if is_ranx(value, kind):
        rows = rows_of_ranx(value, kind)
    elif isinstance(value, Mapping):
        return list(_nested(value, kind))
    else:
        rows = _framed(value, kind) if is_frame(value) else _listed(value, kind)
    if not rows and not empty:
        once = "a generator can be read once: pass a list"
        remedy = once if isinstance(value, Iterator) else "it needs at least one"
        raise InputError(f"no rows in the {kind.noun}", remedy=remedy)
    return rows


def _listed(value: Any, kind: RowKind) -> list[Triple]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        _fail(f"{_article(type(value).__name__)} is no {kind.noun}", kind)
    rows = enumerate(value, 1)
    return [row if _is_plain(row) else _row(row, number, kind) for number, row in rows]


def rows_of_ranx(value: Any, kind: RowKind) -> list[Triple]:
    """Returns the rows of a ranx.Run or ranx.Qrels, in its order."""
    from irtoolkit.runs._typed_dicts import columns

    queries, counts, docs, values = columns(getattr(value, kind.nested))
    repeated = chain.from_iterable(map(repeat, queries, counts))
    return list(zip(repeated, docs, values, strict=True))


def is_ranx(value: Any, kind: RowKind) -> bool:
    """Returns whether an object is a ranx.Run or ranx.Qrels, by the name of its class."""
    name = {"run": "Run", "qrels": "Qrels"}[kind.noun]
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == "ranx"
        for base in type(value).__mro__
    )


def scores_of(rows: Sequence[Triple]) -> NDArray[np.float64]:
    """Returns the scores of rows, (N,).

    Raises:
        InputError: a score that is not a number. None is taken for one that is missing, NaN.
    """
    values = [row[2] for row in rows]
    try:
        array = np.array(values)
    except ValueError:  # sequences of different lengths among them
        array = np.array(())
    if array.ndim == 1 and len(array) == len(values) and array.dtype.kind in "iufb":
        return array.astype(np.float64)
    return np.array([_number(row) for row in rows], dtype=np.float64)


def _number(row: Triple) -> float:
    query, doc, value = row
    if value is None:
        return float("nan")
    try:
        # Text is refused even where it reads as a number: the column may hold ranks or tags.
        return float("text" if isinstance(value, str | bytes) else value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"score {value!r} of document {doc} for query {query} is not a number",
            remedy="convert scores with float()",
        ) from None


def _nested(mapping: Mapping[Any, Any], kind: RowKind) -> Iterator[Triple]:
    for query, docs in mapping.items():
        if not isinstance(docs, Mapping):
            raise InputError(
                f"query {query} has {_article(type(docs).__name__)}, not a dict",
                remedy=f"a dict is {{query id: {{document id: {kind.value}}}}}",
            )
        name = _id(query, f"the {kind.noun} has a query")
        for doc, value in docs.items():
            yield name, doc if type(doc) is str else _id(doc, f"query {name} has a document"), value


def _framed(frame: Any, kind: RowKind) -> list[Triple]:
    description = "a run" if kind is RUN else "qrels"
    remedy = only_ranks(frame_columns(frame, description), kind)
    remedy = remedy or f"rename them to query_id, doc_id and {kind.attribute}"
    rows = zip(*columns_of(frame, column_names(kind), description, remedy), strict=True)
    return [_named(row, number, kind) for number, row in enumerate(rows, 1)]


def column_names(kind: RowKind) -> tuple[tuple[str, ...], ...]:
    """Returns the names that columns of query ids, document ids and values may have."""
    return _QUERIES, _DOCS, kind.columns


def only_ranks(columns: Sequence[str], kind: RowKind) -> str | None:
    """Returns the remedy for a run that has ranks and no scores, if columns are of such a run."""
    if kind is not RUN or "score" in columns or "rank" not in columns:
        return None
    return "a run needs scores, by which documents are ordered: add a column score, such as -rank"


def _is_plain(row: Any) -> TypeGuard[Triple]:
    """Returns whether a row is exactly a tuple of two texts and a value, as most are."""
    return type(row) is tuple and len(row) == 3 and type(row[0]) is str and type(row[1]) is str


def _row(row: Any, number: int, kind: RowKind) -> Triple:
    if hasattr(row, "query_id") and hasattr(row, "doc_id") and hasattr(row, kind.attribute):
        return _named((row.query_id, row.doc_id, getattr(row, kind.attribute)), number, kind)
    if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
        _fail(f"row {number} is {_article(type(row).__name__)}", kind)
    values = tuple(row)
    if len(values) != 3:
        _fail(f"row {number} has {number_of(len(values), 'values')}, not 3", kind)
    return _named(values, number, kind)


def _named(row: tuple[Any, Any, Any], number: int, kind: RowKind) -> Triple:
    """Returns a row with its ids as text."""
    query, doc, value = row
    for role, name in (("query", query), ("document", doc)):
        if _is_missing(name):
            _fail(f"row {number} has no {role} id", kind)
    prefix = f"row {number} has a"
    return _id(query, f"{prefix} query"), _id(doc, f"{prefix} document"), value


def _is_missing(name: Any) -> bool:
    return name is None or bool(name != name)  # NaN is a data frame's missing value


def _id(name: Any, where: str) -> str:
    """Returns an id as text; numbers are written out."""
    if _is_missing(name) or isinstance(name, bytes):
        raise InputError(f"{where} whose id is {name!r}", remedy="an id is text, or a number")
    return str(name)


def _fail(problem: str, kind: RowKind) -> NoReturn:
    raise InputError(
        problem,
        remedy=f"a {kind.noun} is a list of {kind.expected}, a nested dict, a data frame,"
        " or the path of a file",
    )


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"

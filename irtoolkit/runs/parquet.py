"""Runs and judgments in Parquet, with the columns that data frames of them have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ids, Ints, Singles, id_array
from irtoolkit.base.parquet import read_columns
from irtoolkit.runs.objects import QRELS, RUN, RowKind, column_names, only_ranks
from irtoolkit.runs.precision import Precision, compared_in
from irtoolkit.runs.trec import ORDER_REMEDY, contradictions

_RANK = "rank"


def read_run(
    path: Path, tag: str, precision: Precision = "single"
) -> tuple[Ids, Ints, Ids, Ints, Floats | Singles, str]:
    """Returns the query ids and indices, document ids and indices, scores and tag of a file.

    Args:
        path: a file with columns of query ids, document ids and scores, and perhaps of ranks. Ids are
            text or whole numbers.
        tag: the name of the run if the file has none.
        precision: how scores are compared; see `irtoolkit.runs.trec.parse_run`.

    Raises:
        InputError: the file cannot be read, lacks a column or a value, has no rows, values of another
            type, or ranks that contradict the scores; or it holds very much more than its size.
    """
    file = _File(path, RUN)
    query_ids, queries = file.ids(0)
    doc_ids, docs = file.ids(1)
    scores = file.numbers(file.names[2], "float64")
    if _RANK in file.table.column_names:
        with np.errstate(over="ignore"):
            compared = scores.astype(np.float32) if precision == "single" else scores
        ranks = file.numbers(_RANK, "int64")
        for row, problem in contradictions(query_ids, queries, ranks, compared):
            raise InputError(f"row {row + 1}: {problem}", file=path, remedy=ORDER_REMEDY)
    scores = compared_in(precision, queries, doc_ids, docs, scores)
    metadata = file.table.schema.metadata or {}
    return query_ids, queries, doc_ids, docs, scores, metadata.get(b"tag", tag.encode()).decode()


def read_qrels(path: Path) -> list[tuple[str, str, float]]:
    """Returns the (query id, document id, grade) rows of a file.

    Raises:
        InputError: as `read_run`.
    """
    file = _File(path, QRELS)
    query_ids, queries = file.ids(0)
    doc_ids, docs = file.ids(1)
    grades = file.grades()
    return list(zip(query_ids[queries], doc_ids[docs], grades.tolist(), strict=True))


class _File:
    """The columns of a file of runs or judgments.

    Attributes:
        table: the Arrow table.
        names: the names of the columns of query ids, document ids and values.
    """

    def __init__(self, path: Path, kind: RowKind) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path, self._kind = path, kind
        try:
            columns = pq.read_schema(path).names
            self.names = self._chosen(columns)
            self.table = read_columns(path, (*self.names, _RANK), self.names[:2])
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise self._fail((str(error).splitlines() or ["damaged"])[0]) from None
        if not len(self.table):
            raise InputError("no rows", file=path, remedy=f"{kind.noun} need at least one row")

    def ids(self, column: int) -> tuple[Ids, Ints]:
        """Returns the distinct ids of a column, and the index of each row's id.

        Raises:
            InputError: they are neither text nor whole numbers, or one is missing.
        """
        import pyarrow as pa
        import pyarrow.types as kinds

        from irtoolkit.base import arrow

        values = self._column(self.names[column])
        kind = _value_type(values)
        if not (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind)):
            raise self._fail(
                f"{self.names[column]} holds {kind}, and ids are text or whole numbers"
            )
        if kinds.is_integer(kind):
            values = values.cast(kind).cast(pa.string()).dictionary_encode()
        coded = values.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        ids = coded.combine_chunks()
        return id_array(ids.dictionary.to_pylist()), arrow.to_numpy(ids.indices).astype(np.int64)

    def numbers(self, name: str, kind: str) -> Any:
        """Returns the numbers of a column as a numpy array.

        Raises:
            InputError: they are not numbers but text, or one is missing or does not fit the kind.
        """
        import pyarrow as pa
        import pyarrow.types as kinds

        from irtoolkit.base import arrow

        values = self._column(name)
        value_type = _value_type(values)
        if not (
            kinds.is_floating(value_type)
            or kinds.is_integer(value_type)
            or kinds.is_decimal(value_type)
        ):
            raise self._fail(f"{name} holds {value_type}, and not numbers")
        try:
            return arrow.to_numpy(values.cast(value_type).cast(kind).combine_chunks())
        except pa.ArrowException as error:
            raise self._fail(f"{name}: {str(error).splitlines()[0]}") from None

    def grades(self) -> Any:
        """Returns the column of values as integers, or as floats if one is a fraction."""
        try:
            return self.numbers(self.names[2], "int64")
        except InputError:
            return self.numbers(self.names[2], "float64")

    def _column(self, name: str) -> Any:
        values = self.table[name]
        if values.null_count:
            raise self._fail("a value is missing")
        return values

    def _chosen(self, columns: Sequence[str]) -> list[str]:
        """Returns the columns of query ids, document ids and values."""
        chosen = []
        for names in column_names(self._kind):
            column = next((name for name in names if name in columns), None)
            if column is None:
                problem = f"no column {' or '.join(names)}; it has {', '.join(columns) or 'none'}"
                raise self._fail(problem, only_ranks(columns, self._kind))
            chosen.append(column)
        return chosen

    def _fail(self, problem: str, remedy: str | None = None) -> InputError:
        noun = {"run": "a Parquet run", "qrels": "Parquet qrels"}[self._kind.noun]
        usual = f"it needs the columns query_id, doc_id and {self._kind.attribute}"
        return InputError(f"not {noun}: {problem}", file=self._path, remedy=remedy or usual)


def _value_type(column: Any) -> Any:
    """Returns the type of a column's values, of which each distinct one may be stored once."""
    import pyarrow.types as kinds

    kind = column.type
    return kind.value_type if kinds.is_dictionary(kind) else kind

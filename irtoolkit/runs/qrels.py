"""Relevance judgments, columnar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from irtoolkit.base.arguments import shown_value
from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.files import StrPath, atomic_text, local
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.base.ids import Grades, Ids, Ints, encode, first_twin, is_word, offsets_of
from irtoolkit.base.records import Qrel, whole
from irtoolkit.base.targets import check_ending
from irtoolkit.runs import objects, parquet, trec
from irtoolkit.runs.recognise import is_run


@dataclass(frozen=True, eq=False)
class Qrels:
    """Graded judgments grouped by query; those of query i are `offsets[i]:offsets[i + 1]`.

    Attributes:
        query_ids: (Q,) judged queries, in order of first appearance.
        doc_ids: (D,) distinct document ids that `docs` points into.
        offsets: (Q+1,) positions in `docs` and `grades`.
        docs: (M,) indices into `doc_ids`.
        grades: (M,) grades; integers, unless one of them is a fraction.
    """

    query_ids: Ids
    doc_ids: Ids
    offsets: Ints
    docs: Ints
    grades: Grades

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, float]]) -> Qrels:
        """Builds qrels from (query id, document id, grade) rows.

        Raises:
            InputError: a document judged twice for a query, or a grade that is not a finite number.
        """
        listed = list(rows)
        query_ids, queries = encode(row[0] for row in listed)
        doc_ids, docs = encode(row[1] for row in listed)
        twin = first_twin(queries, docs)
        if twin is not None:
            query, doc = query_ids[queries[twin]], doc_ids[docs[twin]]
            raise InputError(f"document {doc} is judged twice for query {query}")
        grades = [_grade(row[2]) for row in listed]
        if None in grades:
            row = listed[grades.index(None)]
            raise InputError(
                f"grade {shown_value(row[2])} of {row[1]} for {row[0]} is not a finite number"
                " between -2^63 and 2^63",
                remedy="give small whole numbers or fractions as grades",
            )
        kind = np.int64 if all(isinstance(grade, int) for grade in grades) else np.float64
        return cls._grouped(query_ids, queries, doc_ids, docs, np.array(grades, dtype=kind))

    @classmethod
    def of(cls, qrels: Any, *, empty: bool = False) -> Qrels:
        """Builds qrels from an object or a file with relevance judgments.

        Args:
            qrels: one of

                - a Qrels;
                - the path of a TREC file, see `read`;
                - an ir_datasets dataset with qrels;
                - {query id: {document id: grade}};
                - a data frame with the columns query_id, doc_id and relevance (ir_measures), qid,
                  docno and label (PyTerrier), or q_id, doc_id and score (ranx);
                - a ranx.Qrels;
                - an iterable of records with the attributes query_id, doc_id and relevance, such
                  as ir_measures' and ir_datasets' Qrel, or of (query id, document id, grade).
            empty: whether an iterable or data frame without rows is accepted.

        Raises:
            InputError: the object is none of these, or a run; a data frame without the columns; no rows; a
                row of another length; a grade that is not a finite number; a document judged twice
                for a query.
        """
        if isinstance(qrels, Qrels):
            return qrels
        if isinstance(qrels, str | PathLike):
            return cls.read(qrels)
        if is_run(qrels):
            raise InputError(
                "a run, and judgments are expected",
                remedy="a dataset or judgments come before the runs",
            )
        if hasattr(qrels, "qrels_iter"):
            qrels, empty = qrels.qrels_iter(), True
        return cls.from_rows(objects.rows_of(qrels, objects.QRELS, empty=empty))

    @classmethod
    def read(cls, path: StrPath) -> Qrels:
        """Reads TREC qrels, or Parquet; the file's first bytes tell which it is.

        Raises:
            InputError: see `irtoolkit.runs.trec.parse_qrels` and `irtoolkit.runs.parquet.read_qrels`.
        """
        path = local(path)
        if is_parquet_file(path):
            rows = parquet.read_qrels(path)
            with errors_in(path):
                return cls.from_rows(rows)
        columns = trec.parse_qrels(path)
        return cls._grouped(
            columns.query_ids, columns.queries, columns.doc_ids, columns.docs, columns.grades
        )

    @classmethod
    def _grouped(
        cls, query_ids: Ids, queries: Ints, doc_ids: Ids, docs: Ints, grades: Grades
    ) -> Qrels:
        order = np.argsort(queries, kind="stable")
        offsets = offsets_of(queries[order], len(query_ids))
        return cls(query_ids, doc_ids, offsets, docs[order], grades[order])

    def __len__(self) -> int:
        """Number of judgments."""
        return len(self.docs)

    @property
    def fractional(self) -> bool:
        """Whether some grade is not a whole number."""
        return self.grades.dtype.kind == "f"

    def to_frame(self) -> Any:
        """Returns the judgments as a pandas DataFrame with query_id, doc_id and relevance."""
        import pandas as pd

        return pd.DataFrame(list(self), columns=list(Qrel._fields))

    def __iter__(self) -> Iterator[Qrel]:
        grades = self.grades.tolist()
        for i, query_id in enumerate(self.query_ids):
            for row in range(self.offsets[i], self.offsets[i + 1]):
                yield Qrel(query_id, self.doc_ids[self.docs[row]], grades[row])

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Returns {query id: {document id: grade}}, as pytrec_eval takes whole grades."""
        result: dict[str, dict[str, int]] = {query_id: {} for query_id in self.query_ids}
        for qrel in self:
            result[qrel.query_id][qrel.doc_id] = qrel.relevance
        return result

    def of_grade(self, grade: float) -> dict[str, set[str]]:
        """Returns query id to the documents that have a grade; queries without any are left out."""
        docs: dict[str, set[str]] = {}
        for qrel in self:
            if qrel.relevance == grade:
                docs.setdefault(qrel.query_id, set()).add(qrel.doc_id)
        return docs

    def write(self, path: StrPath) -> None:
        """Writes TREC qrels, in order; the file appears only when complete.

        Raises:
            InputError: an id that is empty or holds white space; a grade that is not a whole number,
                which trec_eval would truncate; a name that ends as that of something else; or the
                disk refuses.
        """
        check_ending(path, "TREC qrels", ".qrels", ".tsv")
        if self.fractional:
            raise InputError(
                "grades that are fractions cannot be written as TREC qrels",
                file=path,
                remedy="trec_eval would cut them off: export the dataset as beir, mteb or hf",
            )
        for name in (*self.query_ids, *self.doc_ids):
            if not is_word(name):
                raise InputError(
                    f"the id {name!r} cannot be written as one field of TREC text", file=path
                )
        with atomic_text(path) as out:
            for qrel in self:
                out.write(f"{qrel.query_id} 0 {qrel.doc_id} {qrel.relevance}\n")


def _grade(value: Any) -> float | None:
    """Returns a grade as `whole` gives it; None unless it is a finite 64-bit number."""
    try:
        return whole(value) if abs(value) < 2**63 else None
    except (TypeError, ValueError, OverflowError):
        return None

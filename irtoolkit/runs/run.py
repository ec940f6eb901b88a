"""Runs: rankings of documents for queries, in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irtoolkit.base.arguments import checked
from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.files import StrPath, local
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.base.ids import Ids, Ints, Singles, encode, first_twin, is_word, offsets_of
from irtoolkit.base.markup import html_table
from irtoolkit.base.plurals import number_of
from irtoolkit.base.records import ScoredDoc
from irtoolkit.runs import objects, order, parquet, storage, trec
from irtoolkit.runs.columns import Ranks, RunColumns
from irtoolkit.runs.precision import Precision, compared_in

DEFAULT_TAG = "irtoolkit"
# Rows that a notebook shows.
_SHOWN = 5
# The smallest normal float32.
_TINY = float(np.finfo(np.float32).tiny)


class _ReadIds:
    """The field of a run's document ids; a function in their place is called when they are looked at.

    A search gives such a function: ids of an index are decoded only if somebody reads them.
    """

    def __get__(self, run: Any, owner: type[Any]) -> Ids:
        if run is None:
            raise AttributeError("doc_ids")  # by which a dataclass knows that there is no default
        ids: Ids | Callable[[], Ids] = run.__dict__["doc_ids"]
        if callable(ids):
            ids = run.__dict__["doc_ids"] = ids()
        return ids

    def __set__(self, run: Any, ids: Ids | Callable[[], Ids]) -> None:
        run.__dict__["doc_ids"] = ids


@dataclass(frozen=True, eq=False)
class Run:
    """A ranking of documents for each of a set of queries.

    Rows are grouped by query and are in trec_eval's order (`irtoolkit.runs.order`): score descending, ties by document id
    descending. The rows of query i are `offsets[i]:offsets[i + 1]`.

    Attributes:
        query_ids: (Q,) distinct query ids.
        doc_ids: (D,) distinct document ids that `docs` points into.
        offsets: (Q+1,) row numbers.
        docs: (N,) indices into `doc_ids`.
        scores: (N,) float32, trec_eval's precision.
        tag: the name of the system.
        exact_ranks: exact ranks of the relevant documents over all candidates, if the system that
            made the run computed them; they are stored in a file beside the run.
    """

    query_ids: Ids
    doc_ids: Ids
    offsets: Ints
    docs: NDArray[np.int32]
    scores: Singles
    tag: str = DEFAULT_TAG
    exact_ranks: Ranks | None = field(default=None, repr=False)

    if not TYPE_CHECKING:
        doc_ids = _ReadIds()

    # -- making -------------------------------------------------------------------------------

    @classmethod
    def from_columns(
        cls,
        query_ids: Ids,
        queries: Ints,
        doc_ids: Ids,
        docs: NDArray[np.integer[Any]],
        scores: ArrayLike,
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Builds a run from parallel columns in any row order.

        Args:
            query_ids: (Q,) ids that `queries` points into.
            queries: (N,) index of each row's query.
            doc_ids: (D,) ids that `docs` points into.
            docs: (N,) index of each row's document.
            scores: (N,) finite scores; stored in single precision.
            tag: the name of the system; one word.

        Raises:
            InputError: a score that is not finite in single precision, or a repeated document.
        """
        with np.errstate(over="ignore"):
            single = np.asarray(scores, dtype=np.float32)
        bad = np.flatnonzero(~np.isfinite(single))
        if len(bad):
            raise InputError(
                f"score {np.asarray(scores)[bad[0]]} of document {doc_ids[docs[bad[0]]]}"
                f" for query {query_ids[queries[bad[0]]]} is not a finite single-precision number"
            )
        keys = order.keys(doc_ids)[docs]
        if not order.is_ordered(queries, single, keys):
            rows = order.row_order(queries, single, keys)
            queries, docs, single = queries[rows], docs[rows], single[rows]
        offsets = offsets_of(queries, len(query_ids))
        run = cls.ordered(query_ids, offsets, doc_ids, docs.astype(np.int32), single, tag)
        twin = first_twin(queries, docs)
        if twin is not None:
            query, doc = query_ids[queries[twin]], doc_ids[docs[twin]]
            raise InputError(f"document {doc} is listed twice for query {query}")
        return run

    @classmethod
    def ordered(
        cls,
        query_ids: Ids,
        offsets: Ints,
        doc_ids: Ids | Callable[[], Ids],
        docs: NDArray[np.int32],
        scores: Singles,
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Builds a run from rows that are already in its order, with no document twice for a query.

        A function as `doc_ids` is called when the ids are looked at.

        Raises:
            InputError: the tag is not one word.
        """
        _check_tag(tag)
        return cls(query_ids, cast(Ids, doc_ids), offsets, docs, scores, tag)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, str, float]],
        tag: str = DEFAULT_TAG,
        precision: Precision = "single",
    ) -> Run:
        """Builds a run from (query id, document id, score) rows in any order; see `read`.

        Raises:
            InputError: a score that is not a finite number, or a repeated document.
        """
        listed = [(row[0], row[1], row[2]) for row in rows]
        query_ids, queries = encode(row[0] for row in listed)
        doc_ids, docs = encode(row[1] for row in listed)
        scores = compared_in(precision, queries, doc_ids, docs, objects.scores_of(listed))
        return cls.from_columns(query_ids, queries, doc_ids, docs, scores, tag)

    @classmethod
    @checked
    def of(
        cls,
        run: Any,
        tag: str | None = None,
        *,
        empty: bool = False,
        precision: Precision = "single",
    ) -> Run:
        """Builds a run from an object or a file that holds one.

        Args:
            run: one of

                - a Run;
                - the path of a file, see `read`;
                - {query id: {document id: score}};
                - a data frame with the columns query_id, doc_id and score (ir_measures), qid,
                  docno and score (PyTerrier), or q_id, doc_id and score (ranx);
                - a ranx.Run. Documents of equal score get trec_eval's order; to keep ranx's, use
                  `irtoolkit.integrations.ranx.from_ranx`;
                - an iterable of records with the attributes query_id, doc_id and score, such as
                  ir_measures' and ir_datasets' ScoredDoc, or of (query id, document id, score).
            tag: the name of the system; by default the one that the object has, else "irtoolkit".
            empty: whether an iterable or data frame without rows is an empty run.
            precision: see `read`; of a Run that was read before, scores are in single precision.

        Raises:
            InputError: the object is none of these; a data frame without the columns; no rows; a
                row of another length; a score that is not a finite number; a repeated document.
        """
        if isinstance(run, Run):
            return run if tag is None else run.named(tag)
        if isinstance(run, str | PathLike):
            return cls.of(cls.read(run, precision), tag)
        rows = objects.rows_of(run, objects.RUN, empty=empty)
        if tag is None and objects.is_ranx(run, objects.RUN):
            tag = run.name
        return cls.from_rows(rows, tag or DEFAULT_TAG, precision)

    @classmethod
    @checked
    def read(cls, path: StrPath, precision: Precision = "single") -> Run:
        """Reads TREC text, plain or packed, or Parquet; the file's first bytes tell which it is.

        Args:
            path: the file.
            precision: how scores are compared: in "single" precision as by trec_eval 9, in which scores
                may tie that differ in the file, or in "double" precision as by trec_eval 10.

        Raises:
            InputError: see `irtoolkit.runs.trec.parse_run`; or no such Parquet columns.
        """
        path = local(path)
        if not is_parquet_file(path):
            return cls.from_trec(trec.parse_run(path, precision=precision))
        columns = parquet.read_run(path, DEFAULT_TAG, precision)
        with errors_in(path):
            return cls.from_columns(*columns)

    @classmethod
    def from_trec(cls, columns: RunColumns) -> Run:
        """Builds a run from the parsed rows of a file, which have at least one."""
        return cls.from_columns(
            columns.query_ids,
            columns.queries,
            columns.doc_ids,
            columns.docs,
            columns.scores,
            str(columns.tags[columns.tag[0]]),
        )

    # -- using --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "doc_ids": self.doc_ids}

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.docs)

    def __iter__(self) -> Iterator[ScoredDoc]:
        """Rows in order, as ir_measures takes them."""
        for i, query_id in enumerate(self.query_ids):
            rows = slice(self.offsets[i], self.offsets[i + 1])
            for doc, score in zip(self.docs[rows], self.scores[rows].tolist(), strict=True):
                yield ScoredDoc(query_id, self.doc_ids[doc], score)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.as_dict() == other.as_dict()

    def __repr__(self) -> str:
        return f"Run({self.tag!r}, {number_of(len(self.query_ids), 'queries')}, {number_of(len(self), 'rows')})"

    def _repr_html_(self) -> str:
        """Returns the run for a notebook: its size, and the first rows of its first query."""
        queries, depth = len(self.query_ids), int(np.diff(self.offsets).max(initial=0))
        caption = f"Run {self.tag}: {number_of(queries, 'queries', ',')}, {number_of(len(self), 'rows', ',')}, depth {depth:,}"
        rows = [
            # Steps this small only separate equal scores.
            (row.query_id, rank, row.doc_id, row.score if abs(row.score) >= _TINY else 0.0)
            for query_id in self.query_ids[:1]
            for rank, row in enumerate(self.ranking(query_id)[:_SHOWN], 1)
        ]
        return html_table(("query_id", "rank", "doc_id", "score"), rows, caption)

    def ranking(self, query_id: str) -> list[ScoredDoc]:
        """Returns the rows of one query, best first; empty when the run does not have it."""
        index = self._index.get(query_id)
        if index is None:
            return []
        rows = slice(self.offsets[index], self.offsets[index + 1])
        names = self.doc_ids[self.docs[rows]]
        return [
            ScoredDoc(query_id, d, s)
            for d, s in zip(names, self.scores[rows].tolist(), strict=True)
        ]

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Returns {query id: {document id: score}} in rank order, as pytrec_eval takes it."""
        result: dict[str, dict[str, float]] = {query_id: {} for query_id in self.query_ids}
        for row in self:
            result[row.query_id][row.doc_id] = row.score
        return result

    @cached_property
    def _index(self) -> dict[str, int]:
        return {query_id: i for i, query_id in enumerate(self.query_ids)}

    @cached_property
    def queries(self) -> Ints:
        """(N,) index of each row's query."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))

    @cached_property
    def ranks(self) -> Ints:
        """(N,) rank of each row within its query, from 1."""
        return np.arange(1, len(self) + 1) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @checked
    def named(self, tag: str) -> Run:
        """Returns the same run with another tag.

        Raises:
            InputError: the tag is not one word.
        """
        _check_tag(tag)
        return replace(self, tag=tag)

    @checked
    def head(self, depth: int) -> Run:
        """Returns the first `depth` rows of each query.

        Raises:
            InputError: the depth is below 0, or not a whole number.
        """
        if depth < 0:
            raise InputError(f"depth {depth} is below 0")
        keep = self.ranks <= depth
        return replace(
            self,
            offsets=offsets_of(self.queries[keep], len(self.query_ids)),
            docs=self.docs[keep],
            scores=self.scores[keep],
        )

    def untied(self) -> Run:
        """Returns the same ranking, with scores from which every tool reads the same order.

        Where scores tie, trec_eval orders by document id, ir_measures' RR@k and Judged@k the other
        way around, and ranx as its sort happens to. So each score that is not below its predecessor
        is lowered by the fewest float32 steps until it is.

        Raises:
            InputError: a score would have to go below the lowest float32.
        """
        scores = order.separate(self.scores, queries=self.queries)
        return self if scores is self.scores else replace(self, scores=scores)

    # -- writing ------------------------------------------------------------------------------

    @checked
    def write(self, path: StrPath, form: storage.RunForm = "trec") -> str | None:
        """Writes TREC text or Parquet, by the file's name; the file appears only when complete.

        Scores are the shortest decimals that read back to the same float32. The text format
        "msmarco" is query id, tab, document id, tab, rank.

        Returns the SHA-256 of the file; None for a pipe or device.

        Raises:
            InputError: an id that is empty or holds white space, in text; a name that ends as that
                of something else, such as .json; or the disk refuses.
        """
        table = storage.RunTable(
            self.query_ids, self.queries, self.doc_ids, self.docs, self.scores, self.ranks, self.tag
        )
        return storage.write(path, table, form)

    def to_frame(self) -> Any:
        """Returns a pandas DataFrame with query_id, doc_id, score and rank, best first."""
        import pandas as pd

        return pd.DataFrame(
            {
                "query_id": self.query_ids[self.queries],
                "doc_id": self.doc_ids[self.docs],
                "score": self.scores,
                "rank": self.ranks,
            }
        )


def _check_tag(tag: str) -> None:
    if not is_word(tag):
        raise InputError(f"run tag {tag!r} is not one word", remedy="use letters, digits, - . _")

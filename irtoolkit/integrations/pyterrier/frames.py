"""Queries and rankings in the frames of PyTerrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.integrations.pyterrier._pyterrier import Frame, pd, pt

if TYPE_CHECKING:
    from irtoolkit.base.ids import Ints
    from irtoolkit.ranking.texts import TextQuery, TextRanking

# What a ranking gives each row.
RANKED = ["docno", "score", "rank"]


def asked_in(inp: Frame) -> Iterator[tuple[TextQuery, Ints]]:
    """Yields each query of a frame in order of appearance, with the numbers of its rows."""
    from irtoolkit.base.ids import encode, offsets_of
    from irtoolkit.ranking.texts import TextQuery

    ids, codes = encode(inp["qid"].astype(str))
    texts = [text_in(value, "query") for value in inp["query"]]
    order = np.argsort(codes, kind="stable")
    bounds = offsets_of(codes[order], len(ids))
    for query_id, start, end in zip(ids, bounds[:-1], bounds[1:], strict=True):
        rows = order[start:end]
        first = texts[rows[0]]
        different = next((texts[row] for row in rows if texts[row] != first), None)
        if different is not None:
            raise InputError(f"query {query_id} has two texts, {first!r} and {different!r}")
        yield TextQuery(query_id, first), rows


def asked_once(inp: Frame) -> list[TextQuery]:
    """Returns the queries of a frame in which each has one row.

    Raises:
        InputError: a query has two rows.
    """
    queries = [query for query, _ in asked_in(inp)]
    if len(queries) != len(inp):
        twice = inp["qid"][inp["qid"].astype(str).duplicated()].iloc[0]
        raise InputError(f"query {twice} stands twice in the frame")
    return queries


def text_in(value: Any, column: str) -> str:
    """Returns the text of a cell of a frame; the strings of a sequence are joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    raise InputError(f"the column {column} holds {value!r}, which is no text")


def ranked_rows(inp: Frame, doc_ids: Any, rows: Ints) -> Ints:
    """Returns the rows of a query in the one order; unchanged without scores."""
    if "score" not in inp.columns:
        return rows
    from irtoolkit.runs.order import best_first, keys

    scores = inp["score"].to_numpy(dtype=np.float64, na_value=np.nan)[rows]
    best: Ints = rows[best_first(scores, keys(doc_ids[rows]))]
    return best


def ranked_frame(rows: Frame, places: Ints, results: Sequence[TextRanking]) -> Frame:
    """Returns some rows with their hits."""
    doc_ids = [doc_id for result in results for doc_id in result.doc_ids]
    scores = [result.scores for result in results]
    ranks = [np.arange(len(result.doc_ids)) + pt.model.FIRST_RANK for result in results]
    frame = rows.iloc[places].reset_index(drop=True)
    if "docno" not in rows.columns:
        frame["docno"] = pd.Series(doc_ids, index=frame.index, dtype="str")
    # In double precision, as PyTerrier adds and multiplies.
    frame["score"] = np.concatenate([*scores, np.empty(0)]).astype(np.float64)
    frame["rank"] = np.concatenate([*ranks, np.empty(0)]).astype(np.int64)
    return frame

"""Runs and judgments of some queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, encode, id_array, translate
from irtoolkit.runs.order import separate
from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import Run

Mask = NDArray[np.bool_]


def restricted(run: Run, query_ids: Collection[str]) -> Run:
    """Returns the rows of some queries, in the order of the run."""
    keep, rows, offsets = _selected(run, query_ids)
    return replace(
        run,
        query_ids=run.query_ids[keep],
        docs=run.docs[rows],
        scores=run.scores[rows],
        offsets=offsets,
        exact_ranks=None,
    )


def judgments(qrels: Qrels, query_ids: Collection[str]) -> Qrels:
    """Returns the judgments of some queries."""
    keep, rows, offsets = _selected(qrels, query_ids)
    return replace(
        qrels,
        query_ids=qrels.query_ids[keep],
        docs=qrels.docs[rows],
        grades=qrels.grades[rows],
        offsets=offsets,
    )


def _selected(of: Run | Qrels, query_ids: Collection[str]) -> tuple[Mask, Mask, Ints]:
    """Returns which queries are selected, which rows, and the offsets of the selected rows."""
    ids, sizes = {*query_ids}, np.diff(of.offsets)
    keep = np.array([query_id in ids for query_id in of.query_ids], dtype=bool)
    offsets = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
    return keep, np.repeat(keep, sizes), offsets


def joined(parts: Sequence[Run], tag: str, query_ids: Sequence[str]) -> Run:
    """Joins runs that share no query into one, with the queries in a given order."""
    doc_ids = id_array(sorted(set().union(*(part.doc_ids.tolist() for part in parts))))
    where = {
        query_id: (part, row)
        for part in parts
        for row, query_id in enumerate(part.query_ids.tolist())
    }
    codes = {id(part): translate(part.doc_ids, doc_ids) for part in parts}
    counts, docs, scores = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for query_id in query_ids:
        part, row = where[query_id]
        rows = slice(part.offsets[row], part.offsets[row + 1])
        counts.append(rows.stop - rows.start)
        docs.append(codes[id(part)][part.docs[rows]].astype(np.int32))
        scores.append(part.scores[rows])
    return Run.ordered(
        id_array(query_ids),
        np.cumsum(counts),
        doc_ids,
        np.concatenate(docs),
        np.concatenate(scores),
        tag,
    )


def without_excluded(run: Run, excluded: Mapping[str, Collection[str]]) -> Run:
    """Returns a run without the documents that are excluded for their query."""
    if not excluded:
        return run
    queries = {name: number for number, name in enumerate(run.query_ids.tolist())}
    docs = {name: number for number, name in enumerate(run.doc_ids.tolist())}
    width = len(docs)
    pairs = [
        queries[query] * width + docs[doc]
        for query, names in excluded.items()
        if query in queries
        for doc in names
        if doc in docs
    ]
    rows: Ints = np.flatnonzero(~np.isin(run.queries * width + run.docs, pairs))
    if len(rows) == len(run):
        return run
    counts = np.bincount(run.queries[rows], minlength=len(run.query_ids))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    # Exact ranks count the excluded documents too.
    return replace(
        run, offsets=offsets, docs=run.docs[rows], scores=run.scores[rows], exact_ranks=None
    )


def followed_by(run: Run, source: Run, depth: int) -> Run:
    """A run, followed for each query by what another lists below a depth, in its order."""
    doc_ids, codes = encode([*run.doc_ids, *source.doc_ids])
    rest = codes[len(run.doc_ids) :]
    docs, scores, counts = [], [], []
    positions = {query: i for i, query in enumerate(source.query_ids)}
    for i, query in enumerate(run.query_ids):
        rows = slice(run.offsets[i], run.offsets[i + 1])
        more = source.docs[:0]
        if query in positions:
            first, last = source.offsets[positions[query]], source.offsets[positions[query] + 1]
            more = source.docs[min(first + depth, last) : last]
        listed = np.concatenate([codes[run.docs[rows]], rest[more]])
        # Each a step below the one before it, whatever the scores' scale.
        top_scores = run.scores[rows]
        low = np.full(len(more) + 1, top_scores[-1] if len(top_scores) else 0, np.float32)
        scores.append(np.concatenate([top_scores, separate(low)[1:]]))
        docs.append(listed)
        counts.append(len(listed))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Run.ordered(
        run.query_ids,
        offsets,
        doc_ids,
        np.concatenate(docs).astype(np.int32),
        np.concatenate(scores),
        run.tag,
    )

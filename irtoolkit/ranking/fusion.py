"""Fusion: one run from several, by their ranks or by their scores.

For each query of any run, fusion ranks the documents that at least one run lists. A document that
a run does not list gets 0 points from it, after normalisation, as in ranx. So with minmax and sum
a document that is not listed counts as much as the last one that is, and with zscore as much as the
average of those that are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.frames import is_frame
from irtoolkit.base.ids import Floats, Ids, Ints, encode, id_array, translate
from irtoolkit.base.plurals import number_of
from irtoolkit.base.progress import tqdm
from irtoolkit.ranking.fusion_methods import Method, PointMethod, WholeRunMethod, method_named
from irtoolkit.runs import Run
from irtoolkit.runs.order import id_keys
from irtoolkit.runs.top_k import TieOrder, top_k

# Pairs of document and run held at once: 2^21 doubles stay near the processor's cache.
_CELLS = 1 << 21
# Shares below which the runs are probably not of one dataset.
_FEW_QUERIES, _FEW_DOCS = 0.5, 0.01


def fuse(
    runs: Iterable[Any],
    method: str | Method = "rrf",
    *,
    depth: int | None = None,
    tag: str | None = None,
    progress: bool = True,
    related: bool = False,
    **settings: Any,
) -> Run:
    """Fuses runs into one.

    Scores are added in double precision and decide the order, ties as in every run. A
    score that differs from the one before in double precision only is lowered by the fewest float32
    steps that keep this order for a reader of the run.

    Args:
        runs: two or more, each anything that `Run.of` accepts; of any queries and documents.
        method: "rrf", "weighted", "combsum", "combmnz", "rankproduct", "condorcet", "w_condorcet",
            or a Method.
        depth: rows kept for each query; None keeps all.
        tag: run tag; by default the method's.
        progress: whether to show a progress bar on a terminal.
        related: whether to refuse a run that shares no query with the others.
        **settings: parameters of the method: `k` of rrf (default 60); `weights` of weighted
            and w_condorcet, one for each run; `normalise` of those that read scores: "minmax" (default), "zscore", "sum" or "none".

    Returns:
        A run with the queries of all runs, in order of first appearance, and for each query the
        documents of all runs.

    Raises:
        InputError: fewer than two runs; a method or parameter that does not exist or does not fit
            the runs; a depth below 1; a fused score that is not finite in single precision.
    """
    listed = _runs_of(runs)
    chosen = method_of(method, settings)
    chosen.check(len(listed))
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    if related:
        query_counts(listed, [run.tag for run in listed])
    return _fused(listed, chosen, depth, chosen.tag if tag is None else tag, progress)


def _runs_of(runs: Iterable[Any]) -> list[Run]:
    if isinstance(runs, Run | Mapping | str) or is_frame(runs):
        raise InputError("one run to fuse, not several", remedy="give a list of at least two")
    listed = [Run.of(run) for run in runs]
    if len(listed) < 2:
        raise InputError(f"{number_of(len(listed), 'runs')} to fuse", remedy="give at least two")
    return listed


def method_of(method: str | Method, settings: Mapping[str, Any]) -> Method:
    """Returns the method of a name and its settings; a method is taken as it is.

    Raises:
        InputError: no such method, or settings beside a method.
    """
    if not isinstance(method, Method):
        return method_named(method, settings)
    if settings:
        raise InputError(
            f"the method is given with its parameters, and {', '.join(settings)} again",
            remedy=f"name the method: {method.name!r}",
        )
    return method


def _fused(runs: Sequence[Run], method: Method, depth: int | None, tag: str, progress: bool) -> Run:
    query_ids, _ = encode(query_id for run in runs for query_id in run.query_ids)
    doc_ids = id_array(sorted(set().union(*(run.doc_ids.tolist() for run in runs))))
    keys = id_keys(len(doc_ids))
    counts, docs, scores = [0], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    hidden = None if progress else True
    with tqdm(total=len(query_ids), desc=method.tag, unit="query", disable=hidden) as bar:
        for query_id, codes, fused in _each_query(runs, method, query_ids, doc_ids):
            _check_finite(fused, query_id, doc_ids[codes])
            [order], [single] = top_k(fused[None, :], TieOrder(keys[codes], "trec"), depth)
            counts.append(len(order))
            docs.append(codes[order].astype(np.int32))
            scores.append(single)
            bar.update()
    return Run.ordered(
        query_ids, np.cumsum(counts), doc_ids, np.concatenate(docs), np.concatenate(scores), tag
    )


def _each_query(
    runs: Sequence[Run], method: Method, query_ids: Ids, doc_ids: Ids
) -> Iterator[tuple[str, Ints, Floats]]:
    """Yields id, documents in ascending order and their fused scores, for each query in order."""
    if isinstance(method, WholeRunMethod):
        code_of = {doc: code for code, doc in enumerate(doc_ids.tolist())}
        for query_id, scores in zip(
            query_ids, method.scores(runs, query_ids.tolist()), strict=True
        ):
            codes = np.array([code_of[doc] for doc in scores], dtype=np.int64)
            values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
            order = np.argsort(codes)
            yield query_id, codes[order], values[order]
        return
    assert isinstance(method, PointMethod)
    with np.errstate(over="ignore", invalid="ignore"):
        points = [method.points(run, position) for position, run in enumerate(runs)]
    for block in pair_blocks(runs, points, query_ids, doc_ids):
        with np.errstate(over="ignore", invalid="ignore"):
            fused = method.combine(block.points, block.listed)
        for query_id, (start, end) in zip(
            block.query_ids, pairwise(block.offsets.tolist()), strict=True
        ):
            yield query_id, block.docs[start:end], fused[start:end]


@dataclass(frozen=True)
class PairBlock:
    """Points of all runs for some queries, as (query, document) pairs in ascending order.

    Attributes:
        query_ids: (q,) ids of the queries.
        offsets: (q+1,) positions of pairs; those of query i are `offsets[i]:offsets[i + 1]`.
        docs: (p,) indices of documents, ascending within a query.
        points: (p, R) points of each pair in each run; 0 where the run does not list it.
        listed: (p, R) whether the run lists the pair.
    """

    query_ids: Ids
    offsets: Ints
    docs: Ints
    points: Floats
    listed: NDArray[np.bool_]


def pair_blocks(
    runs: Sequence[Run], points: Sequence[Floats], query_ids: Ids, doc_ids: Ids
) -> Iterator[PairBlock]:
    """Yields the points of all queries, a few queries at a time."""
    codes = [translate(run.doc_ids, doc_ids) for run in runs]
    starts, counts = np.zeros((2, len(runs), len(query_ids)), np.int64)
    for column, run in enumerate(runs):
        positions = translate(query_ids, run.query_ids)
        has = positions >= 0
        starts[column, has] = run.offsets[positions[has]]
        counts[column, has] = run.offsets[positions[has] + 1] - starts[column, has]
    cells = np.cumsum(counts.sum(axis=0)) * len(runs)
    cuts = np.flatnonzero(np.diff(cells // _CELLS)) + 1
    for first, last in pairwise([0, *cuts.tolist(), len(query_ids)]):
        queries = np.arange(last - first) * len(doc_ids)
        rows = [
            _ranges(s, c) for s, c in zip(starts[:, first:last], counts[:, first:last], strict=True)
        ]
        keys = [
            np.repeat(queries, count) + code[run.docs[row]]
            for run, code, row, count in zip(runs, codes, rows, counts[:, first:last], strict=True)
        ]
        pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        table = np.zeros((len(pairs), len(runs)))
        listed = np.zeros(table.shape, dtype=bool)
        parts = np.split(inverse, np.cumsum([len(row) for row in rows])[:-1])
        for column, (part, row) in enumerate(zip(parts, rows, strict=True)):
            table[part, column] = points[column][row]
            listed[part, column] = True
        offsets = np.searchsorted(pairs, np.append(queries, (last - first) * len(doc_ids)))
        docs = pairs - np.repeat(queries, np.diff(offsets))
        yield PairBlock(query_ids[first:last], offsets, docs, table, listed)


def _ranges(starts: Ints, counts: Ints) -> Ints:
    """Row numbers of several ranges of rows, one range after the other."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts)


def _check_finite(fused: Floats, query_id: str, doc_ids: Ids) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(fused.astype(np.float32)))
    if len(bad):
        raise InputError(
            f"the fused score {fused[bad[0]]} of document {doc_ids[bad[0]]} for query {query_id}"
            " is not a finite single-precision number",
            remedy="use smaller weights, or a normalisation",
        )


def check_together(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """Returns warnings about runs that have little in common.

    Args:
        runs: two or more.
        names: what each is called in messages.

    Raises:
        InputError: a run shares no query with any other.
    """
    counts = query_counts(runs, names)
    notes = []
    everywhere = sum(count == len(runs) for count in counts.values())
    if everywhere < _FEW_QUERIES * len(counts):
        notes.append(
            f"only {everywhere:,} of {len(counts):,} queries are in all runs; the others are ranked"
            " by fewer runs"
        )
    shared, pairs = _shared_pairs(runs)
    if shared < _FEW_DOCS * pairs:
        notes.append(
            f"only {shared:,} of {pairs:,} documents of the queries that runs share are in more than"
            " one run: are the runs of one collection?"
        )
    return notes


def query_counts(runs: Sequence[Run], names: Sequence[str]) -> Mapping[str, int]:
    """Each query with the number of runs that list documents for it.

    Raises:
        InputError: a run shares no query with any other.
    """
    filled = [set(run.query_ids[np.diff(run.offsets) > 0].tolist()) for run in runs]
    counts = Counter(query for queries in filled for query in queries)
    for name, queries in zip(names, filled, strict=True):
        alone = bool(queries) and all(counts[query] == 1 for query in queries)
        others = [i for i, ids in enumerate(filled) if ids and ids is not queries]
        if alone and others:
            raise InputError(
                "it shares no query with the other runs: it has for example"
                f" {min(queries)}; {names[others[0]]} has {min(filled[others[0]])}",
                file=name,
                remedy="fuse runs of one dataset",
            )
    return counts


def _shared_pairs(runs: Sequence[Run]) -> tuple[int, int]:
    """Pairs of query and document that more than one run lists, and all pairs of shared queries."""
    query_ids, _ = encode(query for run in runs for query in run.query_ids)
    doc_ids, _ = encode(doc for run in runs for doc in run.doc_ids)
    # One number for the query and the document of each row.
    keys = [
        translate(run.query_ids, query_ids)[run.queries] * len(doc_ids)
        + translate(run.doc_ids, doc_ids)[run.docs]
        for run in runs
    ]
    queries = np.concatenate([np.unique(key // max(1, len(doc_ids))) for key in keys])
    in_several = np.bincount(queries, minlength=len(query_ids)) > 1
    listed = np.concatenate([key[in_several[key // max(1, len(doc_ids))]] for key in keys])
    _, times = np.unique(listed, return_counts=True)
    return int((times > 1).sum()), len(times)


def datasets_named(named: Mapping[str, str | None]) -> str | None:
    """A note where the records of runs name more than one dataset; None where they do not.

    Args:
        named: name of each run to the dataset that its record names, if there is one.
    """
    first: dict[str, str] = {}
    for name, dataset in named.items():
        if dataset is not None:
            first.setdefault(dataset, name)
    if len(first) < 2:
        return None
    return "the runs are of different datasets: " + ", ".join(
        f"{name} of {dataset}" for dataset, name in first.items()
    )

"""Fusion: one run from several, by their ranks or by their scores.

A document is fused with every other that some run lists for the query, over the union of the
queries. What a run does not list counts 0 for that run, after normalisation, as it does in ranx.
So under minmax and sum a document that is not listed is as good as the last that is, and under
zscore as good as the average of those that are.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from irtoolkit import __version__
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.ids import Ids, Ints, encode, id_array, translate
from irtoolkit.retrievers.ordering import best, untied
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import remove_ranks

Floats = NDArray[np.float64]
Normalise = Literal["minmax", "zscore", "sum", "none"]

# Pairs of document and run held at once: 2^21 doubles stay near the processor's cache.
_CELLS = 1 << 21


# -- fusing --------------------------------------------------------------------------------------


def reciprocal_rank(
    runs: Sequence[Run], k: float = 60, *, depth: int | None = None, tag: str | None = None
) -> Run:
    """Reciprocal rank fusion; see `ReciprocalRank` and `fuse`."""
    return fuse(runs, ReciprocalRank(k), depth=depth, tag=tag)


def weighted(
    runs: Sequence[Run],
    weights: Sequence[float],
    normalise: Normalise = "minmax",
    *,
    depth: int | None = None,
    tag: str | None = None,
) -> Run:
    """The weighted sum of normalised scores; see `normalised` and `fuse`."""
    return fuse(runs, Weighted(tuple(weights), normalise), depth=depth, tag=tag)


def fuse(
    runs: Sequence[Run],
    method: Method,
    *,
    depth: int | None = None,
    tag: str | None = None,
    progress: bool = True,
) -> Run:
    """Fuses runs.

    Scores are added in double precision and decide the order, ties by document id descending. As
    when a retriever ranks, scores that differ in double precision alone, and would be reordered by
    a reader of the run, are lowered by the fewest float32 steps that keep the order.

    Args:
        runs: two or more; of any queries, any documents.
        method: see `METHODS`.
        depth: rows kept for each query; None keeps all.
        tag: run tag; by default the method's name.
        progress: whether to show a progress bar on a terminal.

    Returns:
        A run of the union of the queries, in order of first appearance, and for each query of the
        union of its documents.

    Raises:
        InputError: fewer than two runs, parameters that do not fit them, a depth below 1, or a
            fused score that is not finite in single precision.
    """
    if len(runs) < 2:
        raise InputError(f"{len(runs)} runs to fuse", remedy="give at least two")
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    method.check(len(runs))
    query_ids, _ = encode(query_id for run in runs for query_id in run.query_ids)
    # Ascending, so that an index is what `best` breaks ties by.
    doc_ids = id_array(sorted(set().union(*(run.doc_ids.tolist() for run in runs))))
    with np.errstate(over="ignore", invalid="ignore"):
        points = [method.points(run, place) for place, run in enumerate(runs)]
    counts, docs, scores = [0], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    with tqdm(
        total=len(query_ids), desc=method.name, unit="query", disable=None if progress else True
    ) as bar:
        for block in _blocks(runs, points, query_ids, doc_ids):
            with np.errstate(over="ignore", invalid="ignore"):
                fused = method.combine(block.points, block.listed)
            _refuse_nonfinite(fused, block, doc_ids)
            for start, end in pairwise(block.offsets.tolist()):
                mine = block.docs[start:end]
                ((order, single),) = best(fused[None, start:end], mine, "trec", depth)
                counts.append(len(order))
                docs.append(mine[order].astype(np.int32))
                scores.append(single)
            bar.update(len(block.query_ids))
    return Run.ordered(
        query_ids, np.cumsum(counts), doc_ids, np.concatenate(docs), np.concatenate(scores),
        method.name if tag is None else tag,
    )  # fmt: skip


@dataclass(frozen=True)
class _Block:
    """What the runs say of some queries: (query, document) pairs in ascending order.

    Attributes:
        query_ids: (q,) ids of the queries.
        offsets: (q+1,) pair numbers; those of query i are `offsets[i]:offsets[i + 1]`.
        docs: (p,) indices of documents, ascending within a query.
        points: (p, R) of each run; 0 where it does not list the pair.
        listed: (p, R) whether it does.
    """

    query_ids: Ids
    offsets: Ints
    docs: Ints
    points: Floats
    listed: NDArray[np.bool_]


def _blocks(
    runs: Sequence[Run], points: Sequence[Floats], query_ids: Ids, doc_ids: Ids
) -> Iterator[_Block]:
    """Yields what the runs say of all queries, a few at a time."""
    codes = [translate(run.doc_ids, doc_ids) for run in runs]
    starts, counts = np.zeros((2, len(runs), len(query_ids)), np.int64)
    for place, run in enumerate(runs):
        at = translate(query_ids, run.query_ids)
        has = at >= 0
        starts[place, has] = run.offsets[at[has]]
        counts[place, has] = run.offsets[at[has] + 1] - starts[place, has]
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
        for place, (part, row) in enumerate(zip(parts, rows, strict=True)):
            table[part, place] = points[place][row]
            listed[part, place] = True
        offsets = np.searchsorted(pairs, np.append(queries, (last - first) * len(doc_ids)))
        docs = pairs - np.repeat(queries, np.diff(offsets))
        yield _Block(query_ids[first:last], offsets, docs, table, listed)


def _ranges(starts: Ints, counts: Ints) -> Ints:
    """Row numbers of some stretches of rows, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts)


def _refuse_nonfinite(fused: Floats, block: _Block, doc_ids: Ids) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(fused.astype(np.float32)))
    if len(bad):
        query = np.searchsorted(block.offsets, bad[0], side="right") - 1
        raise InputError(
            f"the fused score {fused[bad[0]]} of document {doc_ids[block.docs[bad[0]]]} for query"
            f" {block.query_ids[query]} is not a finite single-precision number",
            remedy="use smaller weights, or a normalisation",
        )


# -- files ---------------------------------------------------------------------------------------


def fuse_files(
    paths: Sequence[StrPath],
    output: StrPath,
    method: Method,
    *,
    depth: int | None = None,
    tag: str | None = None,
    progress: bool = True,
) -> Run:
    """Fuses run files; writes the run, and the record of how it was made, with its inputs' hashes.

    Args:
        paths: runs in TREC text, .gz or Parquet; the order is that of the weights.
        output: where the run goes; may be one of `paths`.
        method, depth, tag, progress: see `fuse`.

    Raises:
        InputError: see `fuse` and `Run.read`; or a file is given twice.
    """
    if len({Path(path).resolve() for path in paths}) != len(paths):
        raise InputError("a run is given twice", remedy="give it a greater weight")
    runs = [Run.read(path) for path in paths]
    inputs = [
        # A pipe cannot be read again.
        {
            "file": str(path),
            "sha256": sha256(path) if Path(path).is_file() else None,
            "tag": run.tag,
        }
        for path, run in zip(paths, runs, strict=True)
    ]
    dataset = _dataset(inputs)
    started = time.monotonic()
    # As in the file of a system, no scores tie.
    fused = untied(fuse(runs, method, depth=depth, tag=tag, progress=progress))
    seconds = time.monotonic() - started
    # The record goes first away and last back: no run ever stands beside a record not its own.
    with suppress(OSError):  # a path that cannot be is refused by the writer, with its reason
        provenance.metadata_path(output).unlink()
    remove_ranks(output)
    fused.write(output)
    if Path(output).is_file():  # a pipe or device keeps nothing that could be described
        made = {
            "dataset": dataset,
            "system": fused.tag,
            "retriever": method.name,
            "settings": method.settings(),
            "runs": inputs,
            "depth": depth,
            "version": __version__,
            "sha256": sha256(output),
        }
        provenance.write(output, provenance.record(made, seconds))
    return fused


def _dataset(inputs: Sequence[Mapping[str, Any]]) -> str | None:
    """The dataset that the records beside all inputs name, or None."""
    named = set()
    for item in inputs:
        made = (provenance.read(item["file"]) or {}).get("irtoolkit")
        if not isinstance(made, dict) or made.get("sha256") != item["sha256"]:
            return None
        named.add(made.get("dataset"))
    return named.pop() if len(named) == 1 else None

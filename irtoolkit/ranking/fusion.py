"""Fusion: one run from several, by their ranks or by their scores.

For each query of any run, fusion ranks the documents that at least one run lists. A document that
a run does not list gets 0 points from it, after normalisation, as in ranx. So with minmax and sum
a document that is not listed counts as much as the last one that is, and with zscore as much as the
average of those that are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_file, sha256
from irtoolkit.base.frames import is_frame
from irtoolkit.base.ids import Floats, Ids, Ints, encode, id_array, translate
from irtoolkit.base.paths import place_of, same_place, without_credentials
from irtoolkit.base.progress import tqdm
from irtoolkit.base.stamps import unchanged
from irtoolkit.ranking.fusion_inputs import check_together, datasets_named, refuse_strangers
from irtoolkit.ranking.fusion_methods import Method, PointMethod, WholeRunMethod, method_named
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.order import id_keys
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import RunForm, refuse_other_form
from irtoolkit.runs.top_k import TieOrder, top_k
from irtoolkit.version import __version__

# Pairs of document and run held at once: 2^21 doubles stay near the processor's cache.
_CELLS = 1 << 21


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
    chosen = _method_of(method, settings)
    chosen.check(len(listed))
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    if related:
        refuse_strangers(listed, [run.tag for run in listed])
    return _fused(listed, chosen, depth, chosen.tag if tag is None else tag, progress)


def _runs_of(runs: Iterable[Any]) -> list[Run]:
    if isinstance(runs, Run | Mapping | str) or is_frame(runs):
        raise InputError("one run to fuse, not several", remedy="give a list of at least two")
    listed = [Run.of(run) for run in runs]
    if len(listed) < 2:
        raise InputError(f"{len(listed)} runs to fuse", remedy="give at least two")
    return listed


def _method_of(method: str | Method, settings: Mapping[str, Any]) -> Method:
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
            _refuse_nonfinite(fused, query_id, doc_ids[codes])
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


def _refuse_nonfinite(fused: Floats, query_id: str, doc_ids: Ids) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(fused.astype(np.float32)))
    if len(bad):
        raise InputError(
            f"the fused score {fused[bad[0]]} of document {doc_ids[bad[0]]} for query {query_id}"
            " is not a finite single-precision number",
            remedy="use smaller weights, or a normalisation",
        )


# -- files ---------------------------------------------------------------------------------------


def fuse_files(
    paths: Sequence[StrPath],
    output: StrPath,
    method: str | Method = "rrf",
    *,
    depth: int | None = None,
    tag: str | None = None,
    form: RunForm = "trec",
    progress: bool = True,
    report: Callable[[str], object] = lambda _: None,
    check: Callable[[Sequence[Run]], object] = lambda _: None,
    **settings: Any,
) -> Run:
    """Fuses run files; writes the fused run, and a record beside it that names them by hash.

    Args:
        paths: runs in TREC text, .gz or Parquet; weights are in the same order.
        output: the file of the fused run; the command refuses one of `paths`, which would be lost.
        form: of the file, see `Run.write`.
        method, depth, tag, progress, settings: see `fuse`.
        report: called with each sign that the runs are not of one dataset.
        check: called with the runs before they are fused; may refuse them.

    Raises:
        InputError: see `fuse` and `Run.read`; a file is given twice, or one shares no query with
            the others.
    """
    refuse_other_form(output, form)
    if len(set(map(same_place, paths))) != len(paths):
        raise InputError("a run is given twice", remedy="give it a greater weight")
    chosen = _method_of(method, settings)
    with unchanged(paths):
        runs = [Run.read(path) for path in paths]
        inputs = [run_input(path, run) for path, run in zip(paths, runs, strict=True)]
    check(runs)
    started = time.monotonic()
    # No scores tie, as in every run that irtoolkit writes.
    fused = fuse(runs, chosen, depth=depth, tag=tag, progress=progress).untied()
    seconds = time.monotonic() - started
    strange = check_together(runs, [str(path) for path in paths])
    for line in strange:
        report(line)
    # One collection may have several names: its folder, an id, an index of it.
    dataset = _agreed_dataset(inputs, report if strange else _unsaid)
    named = [{**item, "file": without_credentials(item["file"])} for item in inputs]
    record = {
        "dataset": dataset,
        "system": fused.tag,
        "retriever": chosen.name,
        "settings": chosen.settings(),
        "runs": named,
        "depth": depth,
        "version": __version__,
    }
    publish(fused, output, record, seconds, form=form)
    return fused


def _unsaid(line: str) -> None:
    """Reports nothing."""


def _agreed_dataset(
    inputs: Sequence[Mapping[str, Any]], report: Callable[[str], object]
) -> str | None:
    """The dataset that the records beside all inputs name, or None where they do not agree."""
    named = {item["file"]: _dataset(item) for item in inputs}
    different = datasets_named(named)
    if different is not None:
        report(different)
    datasets = set(named.values())
    return datasets.pop() if len(datasets) == 1 else None


def run_input(path: StrPath, run: Run) -> dict[str, Any]:
    """Returns the record of a run file: its path, hash and tag."""
    # A pipe cannot be read again, so it has no hash.
    digest = sha256(path) if is_file(path) else None
    return {"file": str(place_of(path)), "sha256": digest, "tag": run.tag}


def _dataset(item: Mapping[str, Any]) -> str | None:
    """The dataset that the record beside an input names; None without a record of that file."""
    record = (provenance.read_metadata(item["file"]) or {}).get("irtoolkit")
    if not isinstance(record, dict) or record.get("sha256") != item["sha256"]:
        return None
    named = record.get("dataset")
    return named if isinstance(named, str) else None

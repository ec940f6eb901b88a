"""Runs and qrels as ranx objects, and back.

ranx orders tied documents as an unstable sort leaves them, leaves numba with another number of
threads than before, and compiles anew for every length of the longest document id. The objects made
here do not tie, the number of threads is restored, and ids are ordinary strings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Floats, encode, id_array, offsets_of
from irtoolkit.measures.judged import within
from irtoolkit.runs import DEFAULT_TAG, Qrels, Run, order
from irtoolkit.runs.objects import QRELS, rows_of_ranx


def to_ranx(of: Run | Qrels, queries: Iterable[str] | None = None) -> Any:
    """Returns a Run as a ranx.Run, or Qrels as a ranx.Qrels.

    Tied scores of a run are lowered by steps in double precision that are too small to change a
    float32. So ranx ranks the documents in the run's order, and `from_ranx` restores the scores.

    Args:
        of: a Run, whose tag becomes the name, or Qrels.
        queries: ids of the queries to keep, such as the `query_ids` of the qrels for a run. Queries
            that a run lacks are added without documents. None keeps all.

    Raises:
        InputError: ranx is not installed; `of` is another object; qrels lack a query of `queries`.
    """
    ranx = load_ranx()
    if not isinstance(of, Run | Qrels):
        raise InputError(
            f"{type(of).__name__} is neither a Run nor Qrels",
            remedy="make one by Run.of or Qrels.of",
        )
    ids = list(of.query_ids) if queries is None else list(dict.fromkeys(queries))
    row_of = dict(zip(of.query_ids, range(len(of.query_ids)), strict=True))
    numbers = _untied(of) if isinstance(of, Run) else of.grades
    full = {name for name, i in row_of.items() if of.offsets[i] < of.offsets[i + 1]}
    filled = [name for name in ids if name in full]
    absent = [name for name in ids if name not in full]
    converted = ranx.Run(name=of.tag) if isinstance(of, Run) else ranx.Qrels()
    if absent and isinstance(of, Qrels):
        raise InputError(f"query {absent[0]} has no judgments", remedy="leave it out")
    if filled:
        rows = [slice(of.offsets[row_of[name]], of.offsets[row_of[name] + 1]) for name in filled]
        docs = [of.doc_ids[of.docs[row]].tolist() for row in rows]
        with threads_kept():
            converted.add_multi(filled, docs, [numbers[row].tolist() for row in rows])
    if absent:
        _add_empty(converted, absent)
    return converted


def _add_empty(run: Any, queries: Iterable[str]) -> None:
    """Adds queries without documents to a ranx.Run."""
    from numba import types
    from numba.typed import Dict

    for name in queries:
        run.run[name] = Dict.empty(types.unicode_type, types.float64)
    run.sort()


def normalised_for_ranx(
    runs: Sequence[Run], queries: Sequence[str], norm: str | None
) -> tuple[list[Any], str | None]:
    """Returns runs as ranx.Run objects with the same queries, and ranx.fuse's normalisation.

    ranx's "zmuv" fails for a query without documents, and silently leaves others empty, since it
    works on several threads. So it is done here, before such queries are added.
    """
    if norm != "zmuv":
        return [to_ranx(run, queries) for run in runs], norm
    ranx = load_ranx()
    converted = []
    for run in runs:
        filled = set(run.query_ids[np.diff(run.offsets) > 0].tolist())
        converted_run = ranx.Run(name=run.tag)
        if filled:
            with threads_kept():
                converted_run = ranx.normalization.zmuv_norm(to_ranx(run, filled))
        _add_empty(converted_run, [query for query in queries if query not in filled])
        converted.append(converted_run)
    return converted, None


def _untied(run: Run) -> Floats:
    """Returns (N,) scores in double precision, each tied score one step below the one before."""
    scores = run.scores.astype(np.float64)
    tied = (run.scores[1:] == run.scores[:-1]) & (run.queries[1:] == run.queries[:-1])
    group = np.cumsum(np.concatenate([[True], ~tied]))[: len(scores)]
    steps = within(offsets_of(group - 1, int(group[-1]) if len(group) else 0)) - 1
    # Steps near 0 may be flushed to 0; -1e-300 is safe, and still 0 as a float32.
    scores[(scores == 0) & (steps > 0)] = -1e-300
    bits = scores.view(np.int64)
    # The bits of a double, read as an integer, rise with its absolute value.
    lowered = np.where(bits < 0, bits + steps, bits - steps)
    return lowered.view(np.float64)


def from_ranx(of: Any, tag: str | None = None) -> Any:
    """Returns a ranx.Run as a Run, or a ranx.Qrels as Qrels.

    A run keeps the order that ranx has, for tied documents too: scores that would change places in
    single precision, or in trec_eval's order of ties, are lowered by float32 steps.

    Args:
        of: a ranx.Run or ranx.Qrels.
        tag: tag of the run; by default the name that it has in ranx.

    Raises:
        InputError: `of` is another object; the tag is not one word; a score is not finite.
    """
    ranx = load_ranx()
    if isinstance(of, ranx.Qrels):
        return Qrels.from_rows(rows_of_ranx(of, QRELS))
    if not isinstance(of, ranx.Run):
        raise InputError(f"{type(of).__name__} is neither a ranx.Run nor ranx.Qrels")
    from irtoolkit.runs._typed_dicts import columns

    query_ids, counts, listed, values = columns(of.run)
    doc_ids, codes = encode(listed)
    keys = order.keys(doc_ids)
    offsets = np.cumsum([0, *counts])
    scores = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(scores.astype(np.float32)))
    if len(bad):
        query = np.searchsorted(offsets, bad[0], side="right") - 1
        raise InputError(
            f"score {scores[bad[0]]} of document {doc_ids[codes[bad[0]]]} for query"
            f" {query_ids[query]} is not a finite single-precision number"
        )
    docs, singles = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for start, stop in pairwise(offsets.tolist()):
        rows = start + order.best_first(scores[start:stop])
        docs.append(codes[rows])
        singles.append(order.separate(scores[rows], keys[codes[rows]]))
    name = tag if tag is not None else (of.name or DEFAULT_TAG)
    return Run.ordered(
        id_array(query_ids),
        offsets,
        doc_ids,
        np.concatenate(docs).astype(np.int32),
        np.concatenate(singles),
        name,
    )


@contextmanager
def threads_kept() -> Iterator[None]:
    """Restores the number of numba's threads, which ranx changes."""
    import numba

    before = numba.get_num_threads()
    try:
        yield
    finally:
        numba.set_num_threads(before)


def slow_at_first(module: str) -> str:
    """Returns a message for the first use of functions of ranx; "" if they are compiled.

    ranx compiles each function when it is first used, and caches the code beside itself.

    Args:
        module: the last part of the name of the module that has the functions.
    """
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(load_ranx().__file__).parent)
    if next(folder.rglob(f"{module}.*.nbi"), None) is not None:
        return ""
    return "ranx compiles its code when it is first used: this takes about half a minute"


def check_ordered(method: str) -> None:
    """Raises InputError for a fusion method whose order differs between processes."""
    # They walk a Python set of strings, whose order follows PYTHONHASHSEED.
    if method in ("condorcet", "w_condorcet"):
        raise InputError(
            f"ranx's {method} orders documents otherwise in each process",
            remedy=f'use irtoolkit\'s own: ir.fuse(..., method="{method}"), or fuse --method {method}',
        )


def load_ranx() -> Any:
    """Returns the module ranx.

    Raises:
        InputError: it is not installed.
    """
    try:
        return import_module("ranx")
    except ImportError:
        raise needs_extra("ranx", "ranx") from None

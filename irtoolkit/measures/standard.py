"""trec_eval's usual measures, computed on arrays.

These are ir_measures' own measures, with the names and parameters they have there, computed faster.
STANDARD lists them with the parameter values that are supported; ir_measures' providers compute
all others.

The rules are those of trec_eval. R is the number of documents with grade rel or higher, retrieved or
not, and a query with R = 0 scores 0. An unjudged document or one with a negative grade has no gain.
A query for which the run lists nothing scores 0 by every measure but NumQ and NumRel, which count
what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints, offsets_of
from irtoolkit.measures.judged import JudgedRun, RankedRows, sums, within
from irtoolkit.measures.traits import traits


def vectorised(measure: Measure) -> Callable[[JudgedRun], Floats] | None:
    """The function that computes a measure, or None if STANDARD does not support it.

    The function takes a judged run and returns the value of each judged query, (Q,).
    """
    compute, takes = STANDARD.get(measure.NAME, (None, {}))
    if compute is None or type(measure) is not type(ir_measures.measures.registry[measure.NAME]):
        return None
    for name in {*measure.params, *measure.SUPPORTED_PARAMS}:
        info = measure.SUPPORTED_PARAMS.get(name)
        if info is None or not info.validate(measure[name]):
            return None
        if not takes[name](measure[name]) if name in takes else measure[name] != info.default:
            return None
    return partial(compute, measure)


# -- parts of measures ----------------------------------------------------------------------------


def _relevant(measure: Measure, judged: JudgedRun) -> RankedRows:
    """The rows with a relevant document, up to the cutoff."""
    rows = judged.exact if traits(measure).exact_ranks else judged.hits
    return rows.where((rows.grades >= measure["rel"]) & (rows.ranks <= _cut(measure)))


def _cut(measure: Measure) -> float:
    return float(measure.params.get("cutoff", np.inf))


def _each(queries: Ints, judged: JudgedRun) -> Floats:
    """(Q,) number of occurrences of each query in `queries`."""
    return np.bincount(queries, minlength=len(judged.query_ids)).astype(np.float64)


def _found(measure: Measure, judged: JudgedRun) -> Floats:
    """(Q,) number of relevant documents up to the cutoff."""
    return _each(_relevant(measure, judged).queries, judged)


def _pool(measure: Measure, judged: JudgedRun) -> Floats:
    """(Q,) R, the number of relevant documents."""
    return _each(judged.pool_queries[judged.pool_grades >= measure["rel"]], judged)


def _share(part: Floats, whole: NDArray[Any]) -> Floats:
    share: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return share


# -- the measures ---------------------------------------------------------------------------------


def _precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Relevant documents among the first k, over k (m_P.c)."""
    return _found(measure, judged) / float(measure["cutoff"])


def _recall(measure: Measure, judged: JudgedRun) -> Floats:
    """Relevant documents among the first k, or all, over R (m_recall.c, m_set_recall.c)."""
    return _share(_found(measure, judged), _pool(measure, judged))


def _success(measure: Measure, judged: JudgedRun) -> Floats:
    """1 if one of the first k documents is relevant, else 0 (m_success.c)."""
    return np.minimum(_found(measure, judged), 1)


def _reciprocal_rank(measure: Measure, judged: JudgedRun) -> Floats:
    """One over the rank of the first relevant document (m_recip_rank.c; RR@k as MS MARCO's)."""
    rows = _relevant(measure, judged)
    best = np.zeros(len(judged.query_ids))
    np.maximum.at(best, rows.queries, 1 / rows.ranks)
    return best


def _average_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Sum of the precisions at the relevant documents, over R (m_map.c, m_map_cut.c)."""
    queries, ranks, _ = _relevant(measure, judged)
    count = len(judged.query_ids)
    precisions = within(offsets_of(queries, count)) / ranks
    return _share(sums(queries, precisions, count), _pool(measure, judged))


def _ndcg(measure: Measure, judged: JudgedRun) -> Floats:
    """DCG over the DCG of the best order of all judged documents (m_ndcg.c, m_ndcg_cut.c).

    The gain is the grade, or 2^grade - 1 for "exp-log2", divided by log2(i+1) at rank i.
    """

    def dcg(rows: RankedRows) -> Floats:
        rows = rows.where((rows.grades > 0) & (rows.ranks <= _cut(measure)))
        gains = rows.grades if measure["dcg"] == "log2" else np.exp2(rows.grades) - 1
        return sums(rows.queries, gains / np.log2(rows.ranks + 1), len(judged.query_ids))

    return _share(dcg(judged.exact), dcg(judged.pool))


def _r_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Relevant documents among the first R, over R (m_Rprec.c)."""
    pool, rows = _pool(measure, judged), _relevant(measure, judged)
    return _share(_each(rows.queries[rows.ranks <= pool[rows.queries]], judged), pool)


def _set_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Relevant documents over listed documents (m_set_P.c); with `relative` over R if that is
    less (m_set_relative_P.c)."""
    listed = judged.counts
    most = np.minimum(listed, _pool(measure, judged)) if measure["relative"] else listed
    return _share(_found(measure, judged), most)


def _bpref(measure: Measure, judged: JudgedRun) -> Floats:
    """Sum over the listed relevant documents of 1 - min(n, R) / min(N, R), over R (m_bpref.c).

    N is the number of documents judged not relevant, with a grade from 0 to below rel, and n the
    number of those ranked above the relevant document.
    """
    rows = judged.hits.where(judged.hits.grades >= 0)
    relevant = rows.grades >= measure["rel"]
    seen = np.concatenate([[0], np.cumsum(~relevant)])
    above = seen[1:] - seen[offsets_of(rows.queries, len(judged.query_ids))[rows.queries]]
    queries, above = rows.queries[relevant], above[relevant]
    below = (judged.pool_grades >= 0) & (judged.pool_grades < measure["rel"])
    pool, others = _pool(measure, judged), _each(judged.pool_queries[below], judged)
    lost = _share(np.minimum(above, pool[queries]), np.minimum(others, pool)[queries])
    return _share(sums(queries, 1 - lost, len(pool)), pool)


def _rank_biased_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Share of relevant documents in 1,000 ranks with weight p^(i-1) at rank i (cwl_eval)."""
    weights: Floats = measure["p"] ** np.arange(1000.0)
    rows = _relevant(measure, judged)
    rows = rows.where(rows.ranks <= len(weights))
    gains = sums(rows.queries, weights[rows.ranks - 1], len(judged.query_ids))
    return gains / float(weights.sum())


def _judged(measure: Measure, judged: JudgedRun) -> Floats:
    """Judged documents among the first k, over k or the number listed if that is less (OpenNIR)."""
    queries, ranks, _ = judged.hits
    found = _each(queries[ranks <= _cut(measure)], judged)
    return _share(found, np.minimum(judged.counts, _cut(measure)))


def _retrieved(measure: Measure, judged: JudgedRun) -> Floats:
    """Number of listed documents, or of relevant ones (m_num_ret.c, m_num_rel_ret.c)."""
    if measure["rel"] is NOT_PROVIDED:
        return judged.counts.astype(np.float64)
    return _found(measure, judged)


def _number_relevant(measure: Measure, judged: JudgedRun) -> Floats:
    """R, also of a query that the run lacks (m_num_rel.c with -c)."""
    return _pool(measure, judged)


def _number_of_queries(measure: Measure, judged: JudgedRun) -> Floats:
    """1 for each judged query, also one that the run lacks (m_num_q.c with -c)."""
    return np.ones(len(judged.query_ids))


# -- the table ------------------------------------------------------------------------------------

ParamCheck = Callable[[Any], bool]


def _given(value: Any) -> bool:
    """Whether a value of at least 1 is given; with rel=0 unjudged documents would be relevant."""
    return value is not NOT_PROVIDED and value >= 1


def _optional(value: Any) -> bool:
    return value is NOT_PROVIDED or value >= 1


def _any(value: Any) -> bool:
    return True


_REL: Mapping[str, ParamCheck] = {"rel": _given}
_REL_AT: Mapping[str, ParamCheck] = {"rel": _given, "cutoff": _optional}

# By name of the measure: the function that computes it, and a check of each parameter that it
# supports. Any other parameter must have its default value.
STANDARD: Mapping[str, tuple[Callable[[Measure, JudgedRun], Floats], Mapping[str, ParamCheck]]] = {
    "AP": (_average_precision, _REL_AT),
    "Bpref": (_bpref, _REL),
    "Judged": (_judged, {"cutoff": _optional}),
    "NumQ": (_number_of_queries, {}),
    "NumRel": (_number_relevant, _REL),
    "NumRet": (_retrieved, {"rel": _optional}),
    "P": (_precision, _REL_AT),
    "R": (_recall, _REL_AT),
    "RBP": (_rank_biased_precision, {"rel": _given, "p": lambda p: 0 < p < 1}),
    "RR": (_reciprocal_rank, _REL_AT),
    "Rprec": (_r_precision, _REL),
    "SetP": (_set_precision, {"rel": _given, "relative": _any}),
    "SetR": (_recall, _REL),
    "Success": (_success, _REL_AT),
    "nDCG": (_ndcg, {"cutoff": _optional, "dcg": _any}),
}

"""trec_eval's usual measures, computed on arrays.

These are ir_measures' own measures, with the same names and parameters, computed faster. STANDARD
lists them with the parameter values that are supported; ir_measures' providers compute all others.

The rules are those of trec_eval. R is the number of documents with grade rel or higher, retrieved
or not, and a query with R = 0 scores 0. An unjudged document or one with a negative grade has no
gain. A query for which the run lists nothing scores 0 by every measure except NumQ and NumRel,
which count judgments, as trec_eval -c does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import Measure
from ir_measures.providers.base import NOT_PROVIDED

from irtoolkit.base.ids import Floats, offsets_of
from irtoolkit.measures.judged import JudgedRun, RankedRows, sums, within
from irtoolkit.measures.parts import cut, each, lowest, number_relevant, relevant_rows, share


def vectorised(measure: Measure) -> Callable[[JudgedRun], Floats] | None:
    """Returns the function that computes a measure, or None if STANDARD does not support it.

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


# -- the measures ---------------------------------------------------------------------------------


def _relevant_listed(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns (Q,) number of relevant documents up to the cutoff."""
    return each(relevant_rows(measure, judged).queries, judged)


def _precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns relevant documents among the first k, over k (m_P.c)."""
    return _relevant_listed(measure, judged) / float(measure["cutoff"])


def _recall(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns relevant documents among the first k, or all, over R (m_recall.c, m_set_recall.c)."""
    return share(_relevant_listed(measure, judged), number_relevant(measure, judged))


def _success(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns 1 if one of the first k documents is relevant, else 0 (m_success.c)."""
    return np.minimum(_relevant_listed(measure, judged), 1)


def _reciprocal_rank(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns 1 / rank of the first relevant document (m_recip_rank.c; MS MARCO's RR@k)."""
    rows = judged.best
    rows = rows.where((rows.grades >= lowest(measure)) & (rows.ranks <= cut(measure)))
    best = np.zeros(len(judged.query_ids))
    np.maximum.at(best, rows.queries, 1 / rows.ranks)
    return best


def _average_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns the sum of precisions at the relevant documents, over R (m_map.c, m_map_cut.c)."""
    queries, ranks, _ = relevant_rows(measure, judged)
    count = len(judged.query_ids)
    precisions = within(offsets_of(queries, count)) / ranks
    return share(sums(queries, precisions, count), number_relevant(measure, judged))


def _ndcg(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns DCG over the DCG of the best order of all judged documents (m_ndcg.c, m_ndcg_cut.c).

    The gain is the grade, or 2^grade - 1 for "exp-log2", divided by log2(i+1) at rank i.
    """

    def dcg(rows: RankedRows) -> Floats:
        rows = rows.where((rows.grades > 0) & (rows.ranks <= cut(measure)))
        gains = rows.grades if measure["dcg"] == "log2" else np.exp2(rows.grades) - 1
        return sums(rows.queries, gains / np.log2(rows.ranks + 1), len(judged.query_ids))

    return share(dcg(judged.best), dcg(judged.pool))


def _interpolated_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns the best precision from the document on that reaches a recall (m_iprec_at_recall.c).

    A recall of x is reached with ⌊x·R + 0.9⌋ relevant documents, as in trec_eval 9.
    """
    queries, ranks, _ = relevant_rows(measure, judged)
    count = len(judged.query_ids)
    positions = within(offsets_of(queries, count))
    needed = np.floor(measure["recall"] * number_relevant(measure, judged) + 0.9)
    reached = positions >= needed[queries]
    best = np.zeros(count)
    np.maximum.at(best, queries[reached], positions[reached] / ranks[reached])
    return best


def _r_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns relevant documents among the first R, over R (m_Rprec.c)."""
    pool, rows = number_relevant(measure, judged), relevant_rows(measure, judged)
    return share(each(rows.queries[rows.ranks <= pool[rows.queries]], judged), pool)


def _set_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns relevant over listed documents (m_set_P.c; m_set_relative_P.c with `relative`).

    `relative` divides by R instead if that is less.
    """
    listed = judged.counts
    most = np.minimum(listed, number_relevant(measure, judged)) if measure["relative"] else listed
    return share(_relevant_listed(measure, judged), most)


def _bpref(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns the sum of 1 - min(n, R) / min(N, R) over the listed relevant documents, over R.

    N is the number of documents judged not relevant, with a grade from 0 to below rel, and n the
    number of those ranked above the relevant document.
    """
    rows = judged.hits.where(judged.hits.grades >= 0)
    relevant = rows.grades >= measure["rel"]
    nonrelevant = np.concatenate([[0], np.cumsum(~relevant)])
    above = (
        nonrelevant[1:] - nonrelevant[offsets_of(rows.queries, len(judged.query_ids))[rows.queries]]
    )
    queries, above = rows.queries[relevant], above[relevant]
    below = (judged.pool_grades >= 0) & (judged.pool_grades < measure["rel"])
    pool, others = number_relevant(measure, judged), each(judged.pool_queries[below], judged)
    lost = share(np.minimum(above, pool[queries]), np.minimum(others, pool)[queries])
    return share(sums(queries, 1 - lost, len(pool)), pool)


def _rank_biased_precision(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns the share of relevant documents, weighted by p^(i-1) up to rank 1,000 (cwl_eval)."""
    weights: Floats = measure["p"] ** np.arange(1000.0)
    rows = relevant_rows(measure, judged)
    rows = rows.where(rows.ranks <= len(weights))
    gains = sums(rows.queries, weights[rows.ranks - 1], len(judged.query_ids))
    return gains / float(weights.sum())


def _judged(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns judged documents among the first k, over k or a shorter list (OpenNIR)."""
    queries, ranks, _ = judged.hits
    judged_rows = each(queries[ranks <= cut(measure)], judged)
    return share(judged_rows, np.minimum(judged.counts, cut(measure)))


def _retrieved(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns the number of listed (relevant) documents (m_num_ret.c, m_num_rel_ret.c)."""
    if measure["rel"] is NOT_PROVIDED:
        return judged.counts.astype(np.float64)
    return _relevant_listed(measure, judged)


def _number_of_queries(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns 1 for each judged query, even if the run lacks it (num_q of trec_eval -c)."""
    return np.ones(len(judged.query_ids))


# -- the table ------------------------------------------------------------------------------------

ParamCheck = Callable[[Any], bool]


def _at_least_one(value: Any) -> bool:
    """Returns whether a value is at least 1; with rel=0 unjudged documents would be relevant."""
    return value is not NOT_PROVIDED and value >= 1


def _optional(value: Any) -> bool:
    return value is NOT_PROVIDED or value >= 1


def _any(value: Any) -> bool:
    return True


_REL: Mapping[str, ParamCheck] = {"rel": _at_least_one}
_REL_AT: Mapping[str, ParamCheck] = {"rel": _at_least_one, "cutoff": _optional}

# By name of the measure: the function that computes it, and a check of each parameter that it
# supports. Any other parameter must have its default value.
STANDARD: Mapping[str, tuple[Callable[[Measure, JudgedRun], Floats], Mapping[str, ParamCheck]]] = {
    "AP": (_average_precision, _REL_AT),
    "Bpref": (_bpref, _REL),
    "IPrec": (_interpolated_precision, {"rel": _at_least_one, "recall": lambda x: 0 <= x <= 1}),
    "Judged": (_judged, {"cutoff": _optional}),
    "NumQ": (_number_of_queries, {}),
    "NumRel": (number_relevant, _REL),
    "NumRet": (_retrieved, {"rel": _optional}),
    "P": (_precision, _REL_AT),
    "R": (_recall, _REL_AT),
    "RBP": (_rank_biased_precision, {"rel": _at_least_one, "p": lambda p: 0 < p < 1}),
    "RR": (_reciprocal_rank, _REL_AT),
    "Rprec": (_r_precision, _REL),
    "SetP": (_set_precision, {"rel": _at_least_one, "relative": _any}),
    "SetR": (_recall, _REL),
    "Success": (_success, _REL_AT),
    "nDCG": (_ndcg, {"cutoff": _optional, "dcg": _any}),
}

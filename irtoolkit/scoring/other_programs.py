"""Measures that other programs compute, which ir_measures calls: trec_eval, gdeval, cwl_eval."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain, pairwise
from typing import Any

import ir_measures
import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.measure_parameters import check_parameters

# A document of this grade satisfies a reader with probability 15/16, by gdeval, which computes ERR.
_MAX_ERR_GRADE = 4
# trec_eval takes 15 milliseconds for a query with this grade, and minutes for one of a million.
_MAX_SLOW_GRADE = 10_000


def by_other_programs(
    run: Run, qrels: Qrels, measures: Mapping[str, ir_measures.Measure]
) -> dict[str, Floats]:
    """Returns the values of measures, (Q,) each, in the order of the judged queries.

    Raises:
        InputError: a measure that no installed package computes, or with parameters that it does not
            take; or judgments or ids on which one of the programs fails.
    """
    if not measures:
        return {}
    for name, measure in measures.items():
        _fail(name, measure, qrels)
    best = np.full(len(qrels.query_ids), -1)
    np.maximum.at(best, np.repeat(np.arange(len(best)), np.diff(qrels.offsets)), qrels.grades)
    if (best < 0).any():
        raise InputError(
            f"query {qrels.query_ids[np.argmin(best)]} has only negative grades, on which"
            " trec_eval crashes or hangs",
            remedy="leave the query out of the qrels, or judge one of its documents 0",
        )
    for identifier in chain(qrels.query_ids, qrels.doc_ids, run.doc_ids):
        if "\0" in identifier:
            raise InputError(f"the id {identifier!r} has a zero byte, at which trec_eval cuts it")
    # gdeval takes numbers only for queries, cuts what stands before a hyphen, and has 01 for 1.
    number = {query_id: str(i) for i, query_id in enumerate(qrels.query_ids)}
    grades = {number[query_id]: docs for query_id, docs in qrels.as_dict().items()}
    scores = {number[query_id]: docs for query_id, docs in _untied(run, number).items()}
    columns: dict[Any, Floats] = {
        measure: np.full(len(number), measure.DEFAULT, dtype=np.float64)
        for measure in measures.values()
    }
    try:
        for metric in ir_measures.iter_calc(list(columns), grades, scores):
            columns[metric.measure][int(metric.query_id)] = metric.value
    except Exception as error:  # a provider may run anything, a Perl script among them
        names = ", ".join(measures)
        raise InputError(
            f"ir_measures cannot compute {names}: {' '.join(str(error).split())}"
        ) from error
    return {name: columns[measure] for name, measure in measures.items()}


def _fail(name: str, measure: ir_measures.Measure, qrels: Qrels) -> None:
    """Raises InputError for a measure that ends or hangs the program that computes it."""
    check_parameters(name, measure)
    for gain in measure.params.get("gains", {}).values():
        if isinstance(gain, int) and abs(gain) > _MAX_SLOW_GRADE:
            raise InputError(
                f"measure {name!r} has a gain of {gain:,}, and trec_eval's time grows with its square",
                remedy=f"use gains up to {_MAX_SLOW_GRADE:,}",
            )
    if (far := int(np.abs(qrels.grades).max(initial=0))) > _MAX_SLOW_GRADE:
        raise InputError(
            f"a grade of {far:,}: {name} is computed by other programs, whose time grows with its square",
            remedy=f"use another measure, or grades up to {_MAX_SLOW_GRADE:,}",
        )
    if qrels.fractional:
        raise InputError(
            f"{name} is computed by other programs, which take no grades that are fractions",
            remedy="use nDCG, P, R, AP or RR, which irtoolkit computes itself",
        )
    highest = int(qrels.grades.max(initial=0))
    if measure.NAME == "ERR" and highest > _MAX_ERR_GRADE:
        raise InputError(
            f"{name} is defined for grades up to {_MAX_ERR_GRADE}, and the judgments have {highest}",
            remedy="use another measure, or lower the grades",
        )


def _untied(run: Run, judged: Collection[str]) -> dict[str, dict[str, float]]:
    """Returns the order of some queries as distinct scores, on which ir_measures' tools agree."""
    untied = {}
    for query_id, (start, stop) in zip(run.query_ids, pairwise(run.offsets.tolist()), strict=True):
        if query_id in judged:
            # Positive, as some providers take an unlisted document for one with a score of 0; and
            # counted within the query, as pytrec_eval's single precision tells whole numbers apart
            # up to 2**24.
            scores = map(float, range(stop - start, 0, -1))
            untied[query_id] = dict(zip(run.doc_ids[run.docs[start:stop]], scores, strict=True))
    return untied

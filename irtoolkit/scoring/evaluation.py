"""From a run and qrels to per-query values, and to the one figure a benchmark reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import ir_measures
import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ids
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.standard import vectorised
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.exact_ranks import Ranks
from irtoolkit.scoring.measure_names import (
    measure_of_other_name,
    measures_between_commas,
    trec_measures,
    unknown_measure,
    unread,
    without_commas,
)
from irtoolkit.scoring.measure_parameters import check_parameters, check_written_parameters
from irtoolkit.scoring.other_programs import by_other_programs

# A measure's name, its parameters in parentheses (which may hold spaces), and its cut.
_MEASURE = re.compile(r"[^\s(]+(?:\([^)]*\))?\S*")

# Double precision ends at 2^1024, and a sum of gains before.
_MAX_POWER = 1_000


def parse_measures(
    text: str | Sequence[str | ir_measures.Measure],
) -> dict[str, ir_measures.Measure]:
    """Returns measures by the names under which they were requested, in order.

    Args:
        text: ir_measures names separated by white space or commas, in any capitals, or a sequence of
            names or measures; or trec_eval's names, for example map, P.5,10 and official, see
            `irtoolkit.scoring.measure_names`; or ranx's, for example hit_rate@5, see
            there.

    Raises:
        InputError: an unknown measure, or parameters it does not take.
    """
    if isinstance(text, str):
        text = without_commas(text)
        names, rest = _MEASURE.findall(text), _MEASURE.sub("", text).strip()
        if rest:
            raise InputError(f"measures {text!r} hold a stray {rest!r}")
    elif isinstance(text, Iterable):
        names = list(text)
    else:
        raise InputError(f"{text!r} is no list of measures", remedy='for example ["nDCG@10", "AP"]')
    if not names:
        raise InputError("no measures given", remedy='for example "nDCG@10 AP"')
    parsed: dict[str, ir_measures.Measure] = {}
    for name in chain.from_iterable(map(_split, names)):
        try:
            parsed[str(name)] = _parse(name)
        except InputError:
            theirs = _of_other_tools(name)
            if theirs is None:
                raise
            for group in theirs.values():
                check_parameters(str(name), group)
            parsed.update(theirs)
    return parsed


def _split(name: str | ir_measures.Measure) -> Sequence[str | ir_measures.Measure]:
    return measures_between_commas(name) if isinstance(name, str) else [name]


def _of_other_tools(name: str | ir_measures.Measure) -> dict[str, ir_measures.Measure] | None:
    """Returns the measures of a name that ir_measures does not take, and trec_eval or ranx does."""
    if not isinstance(name, str):
        return None
    theirs = trec_measures(name)
    if theirs is not None:
        return theirs
    try:
        translated = measure_of_other_name(name)
        if translated is not None:
            translated.validate_params()
    except (NameError, ValueError, AssertionError, KeyError, TypeError):
        return None
    return None if translated is None else {name: translated}


def _parse(name: str | ir_measures.Measure) -> ir_measures.Measure:
    try:
        if isinstance(name, str):
            check_written_parameters(name)
            measure = ir_measures.parse_measure(name)
        else:
            measure = name
        if not isinstance(measure, ir_measures.Measure):
            raise InputError(f"{name!r} is no measure", remedy="for example nDCG@10")
        check_parameters(str(name), measure)
        measure.validate_params()
    except NameError:
        raise unknown_measure(str(name)) from None
    except (ValueError, AssertionError, KeyError, TypeError) as error:
        message = unread(str(name))
        # As trec_eval writes them.
        if message is None and re.fullmatch(r"[a-z0-9][A-Za-z_0-9]*([._][0-9.,]+)?", str(name)):
            message = unknown_measure(str(name))
        raise message or InputError(f"measure {name!r} is not valid: {error}") from None
    return measure


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of one run.

    Attributes:
        measures: the measures by name.
        query_ids: (Q,) the judged queries.
        values: (measures, Q) value of each measure for each query.
        folds: index arrays into the queries; a measure's figure is the mean of its means.
        judged_rows: number of rows of the run whose document is judged; None if it was not counted.
    """

    measures: dict[str, ir_measures.Measure]
    query_ids: Ids
    values: NDArray[np.float64]
    folds: tuple[NDArray[np.intp], ...]
    judged_rows: int | None = None

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in self.figures().items())
        return f"Evaluation({len(self.query_ids)} queries: {figures})"

    def __getitem__(self, measure: str | ir_measures.Measure) -> float:
        return self._figure(self._name(measure))

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def per_query(self, measure: str | ir_measures.Measure) -> NDArray[np.float64]:
        """Returns (Q,) the values of one measure.

        Raises:
            InputError: it was not evaluated.
        """
        place = list(self.measures).index(self._name(measure))
        row: NDArray[np.float64] = self.values[place]
        return row

    def figures(self) -> dict[str, float]:
        """Returns the benchmark's figure for each measure, 0..1 for the usual ones."""
        return {name: self._figure(name) for name in self.measures}

    def over(self, query_ids: Collection[str]) -> dict[str, float]:
        """Returns the figures of some of the queries, without folds."""
        chosen = set(query_ids)
        rows = np.array([i for i, name in enumerate(self.query_ids) if name in chosen], np.intp)
        return {name: self._aggregate(name, rows) for name in self.measures}

    def _name(self, measure: str | ir_measures.Measure) -> str:
        name = str(measure)
        if name not in self.measures:
            there = f"there are {', '.join(self.measures)}"
            raise InputError(f"no measure {name!r} among the scores", remedy=there)
        return name

    def _figure(self, name: str) -> float:
        return float(np.mean([self._aggregate(name, fold) for fold in self.folds]))

    def _aggregate(self, name: str, rows: NDArray[np.intp]) -> float:
        aggregator = self.measures[name].aggregator()
        for value in self.per_query(name)[rows].tolist():
            aggregator.add(value)
        return float(aggregator.result())


def evaluate(
    run: Run,
    qrels: Qrels,
    measures: dict[str, ir_measures.Measure],
    folds: Sequence[Sequence[str]] = (),
    ranks: Ranks | None = None,
) -> Evaluation:
    """Scores a run for every judged query, as trec_eval would: a missing query counts as zero.

    Args:
        run: the ranking.
        qrels: the judgments.
        measures: from `parse_measures`.
        folds: sets of query ids to average over, as a benchmark's protocol declares them.
        ranks: exact ranks of relevant documents over all candidates, if available.

    Raises:
        InputError: a measure that no installed package computes, or with parameters that it does not
            take; a fold's query without qrels; or grades that trec_eval cannot take.
    """
    for name, measure in measures.items():
        _check_powers(name, measure, qrels)
    ours = {
        name: vectorised
        for name, m in measures.items()
        if (vectorised := _vectorised(m)) is not None
    }
    judged = JudgedRun.of(run, qrels, ranks)
    values = {name: compute(judged) for name, compute in ours.items()}
    others = {name: measure for name, measure in measures.items() if name not in ours}
    values |= by_other_programs(run, qrels, others)
    return Evaluation(
        measures,
        qrels.query_ids,
        np.array([values[name] for name in measures]),
        places_of(qrels.query_ids, folds),
        len(judged.hits.queries),
    )


def places_of(query_ids: Ids, folds: Sequence[Sequence[str]]) -> tuple[NDArray[np.intp], ...]:
    """Returns for each fold the positions of its queries among the judged ones; all without folds.

    Raises:
        InputError: a query of a fold is not judged.
    """
    position = {query_id: i for i, query_id in enumerate(query_ids)}
    for fold in folds:
        for query_id in fold:
            if query_id not in position:
                raise InputError(f"query {query_id} of the protocol's folds has no judgments")
    parts = [[position[q] for q in fold] for fold in folds] or [list(range(len(position)))]
    return tuple(np.array(part, dtype=np.intp) for part in parts)


def _check_powers(name: str, measure: ir_measures.Measure, qrels: Qrels) -> None:
    """Raises InputError if a gain of 2 to the power of the grade is too large to represent."""
    highest = int(qrels.grades.max(initial=0))
    if measure.params.get("dcg") == "exp-log2" and highest > _MAX_POWER:
        raise InputError(
            f"{name} takes 2 to the power of the grade, and the judgments have {highest:,}",
            remedy="use nDCG without dcg='exp-log2', or lower the grades",
        )


def _vectorised(measure: ir_measures.Measure) -> Callable[[JudgedRun], Floats] | None:
    """Returns the function that computes a measure on arrays, or None."""
    return measure.per_query if isinstance(measure, ColumnarMeasure) else vectorised(measure)

"""The order of a report: the main measure before the others, and the best system before the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from irtoolkit.base.errors import InputError
from irtoolkit.measures.traits import traits
from irtoolkit.reports.pairs import best_first
from irtoolkit.scoring.score import Scores

Order = Literal["best", "given"]


def check_order(order: object) -> None:
    """Raises InputError for an order that there is not."""
    if order not in get_args(Order):
        raise InputError(f"{order!r} is none of {', '.join(get_args(Order))}")


def ordered(scores: Scores, main: str, order: Order) -> Scores:
    """Returns the scores with the main measure first and, with "best", the systems by their figures on it.

    Systems with equal figures, and those without one, stay in the order given.
    """
    measures = {main: scores.measures[main], **scores.measures}
    systems = scores.systems
    if order == "best":
        ranked = [systems[i] for i in ranking(scores, main)]
        systems = [*ranked, *(system for system in systems if system not in ranked)]
    return replace(
        scores,
        measures=measures,
        evaluations={system: scores.evaluations[system] for system in systems},
        runs={system: scores.runs[system] for system in systems},
    )


def ranking(scores: Scores, measure: str) -> list[int]:
    """Returns the positions of the systems from the best figure to the worst, without infinite ones."""
    figures = [evaluation.figures()[measure] for evaluation in scores.evaluations.values()]
    return best_first(figures, lower=traits(scores.measures[measure]).lower_is_better)


def default_pair(scores: Scores, measure: str, baseline: int | None) -> tuple[int, int]:
    """Returns the best system and the baseline; without one, or if it is the best, the runner-up."""
    ranked = ranking(scores, measure)
    ranked += [i for i in range(len(scores)) if i not in ranked]
    best, second = ranked[0], ranked[min(1, len(ranked) - 1)]
    return best, second if baseline in (None, best) else baseline

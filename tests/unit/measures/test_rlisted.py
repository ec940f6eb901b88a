"""RListed: recall over the relevant documents that a run lists, as CSFCube's scorer has it."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures.measures import Measure

from irtoolkit.measures.rlisted import RListed

Grades = list[int]


def value(measure: Measure, grades: Grades, omitted: Grades = []) -> float:  # noqa: B006
    """The measure of one list whose ranks have these grades, with judged documents it omits."""
    names = [f"d{i:03}" for i in range(len(grades) + len(omitted))]
    run = {"q": {name: -float(i) for i, name in enumerate(names[: len(grades)])}}
    qrels = {"q": dict(zip(names, grades + omitted, strict=True))}
    [metric] = ir_measures.iter_calc([measure], qrels, run)
    return float(metric.value)


def restated(grades: Grades, cutoff: int, rel: int) -> float:
    relevant = [grade >= rel for grade in grades]
    return sum(relevant[:cutoff]) / sum(relevant) if any(relevant) else 0.0


@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("rel", [1, 2, 3])
@pytest.mark.parametrize("grades", [[3], [0], [0, 2, 1, 3, 0], [1, 1, 1], [2] * 7, [0] * 4 + [3]])
def test_it_is_its_definition_and_ir_measures_r_where_nothing_is_omitted(
    grades: Grades, rel: int, cutoff: int
) -> None:
    found = value(RListed(rel=rel) @ cutoff, grades)
    assert found == restated(grades, cutoff, rel)
    assert found == value(ir_measures.R(rel=rel) @ cutoff, grades)


def test_a_relevant_document_that_the_run_omits_does_not_count() -> None:
    grades, omitted = [2, 0, 3, 0], [3, 1]
    assert value(RListed @ 2, grades, omitted) == 1 / 2
    assert value(ir_measures.R(rel=2) @ 2, grades, omitted) == pytest.approx(1 / 3)
    assert value(RListed @ 2, [0, 1], [3]) == 0.0

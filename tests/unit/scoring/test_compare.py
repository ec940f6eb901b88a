"""Comparisons on measures whose figure is no plain mean: geometric means, medians, sums, deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures.measures.base import Agg
from scipy import stats

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.gmap import LEAST
from irtoolkit.measures.traits import summary_of
from irtoolkit.scoring.compare import Compared, compare
from irtoolkit.scoring.evaluation import Evaluation, parse_measures
from irtoolkit.scoring.significance import confidence_interval, effect_size, paired_test

BASE = [0.0, 0.5, 0.25, 0.5, 0.125, 0.75, 0.0, 1.0]
BETTER = [0.01, 0.5, 0.3, 0.4, 0.2, 0.8, 0.000001, 0.9]
RANKS = ([9.0, 4, 40, 3, 7, 20, 300, 1], [5.0, 6, 30, 2, 1, 9, 7000, 1])


def evaluation(values: Sequence[float], measures: Any) -> Evaluation:
    queries = id_array([f"q{i}" for i in range(len(values))])
    return Evaluation(measures, queries, np.array([values]), (np.arange(len(values)),))


def both(name: str, values: Sequence[Sequence[float]], **kwargs: Any) -> tuple[Compared, ...]:
    measures = parse_measures(name)
    evaluations = dict(zip("bs", [evaluation(row, measures) for row in values], strict=True))
    return compare(evaluations, name, baseline="b", **kwargs).rows


@pytest.mark.parametrize("test", ["student", "fisher", "wilcoxon"])
@pytest.mark.parametrize("name", ["GMAP", "GMBpref", "GMAP(rel=2)"])
def test_geometric_means_are_compared_by_logarithms(name: str, test: Any) -> None:
    first, second = both(name, (BASE, BETTER), test=test)
    base, better = (np.log(np.maximum(row, LEAST)) for row in (BASE, BETTER))
    assert first.figure == pytest.approx(stats.gmean(np.maximum(BASE, LEAST)))
    assert second.p_value == paired_test(better, base, test)
    assert second.p_value != pytest.approx(paired_test(BETTER, BASE, test))
    assert second.effect == effect_size(better, base)
    assert second.difference == pytest.approx(second.figure - first.figure)
    for row, logarithms in ((first, base), (second, better)):
        assert row.low < row.figure < row.high
        # Quantiles between two draws differ, as the mean of logarithms is no mean of values.
        assert (row.low, row.high) == pytest.approx(
            np.exp(confidence_interval(logarithms)).tolist(), rel=0.01
        )


def test_a_median_has_the_signed_rank_test_and_no_effect_of_means() -> None:
    first, second = both("MedianRank", RANKS, test="wilcoxon")
    assert both("MedianRank", RANKS, test=None) == (first, second)
    assert (first.figure, second.figure) == (8.0, 5.5)
    assert second.p_value == paired_test(RANKS[1], RANKS[0], "wilcoxon")
    assert second.effect is None
    assert (second.wins, second.losses) == (5, 2)
    for row, values in zip((first, second), RANKS, strict=True):
        assert row.low <= row.figure <= row.high
        # No resample of eight has a median beyond these, where the mean is far above.
        assert min(values) <= row.low
        assert row.high < np.mean(RANKS[1])


@pytest.mark.parametrize("test", ["student", "fisher", "wilcoxon"])
def test_a_standard_deviation_is_not_compared(test: Any) -> None:
    with pytest.raises(InputError, match="a standard deviation over queries") as caught:
        both("StdRank", RANKS, test=test)
    assert caught.value.remedy == "--measure Rank"


def test_the_interval_of_a_sum_is_of_the_sum() -> None:
    counts = ([3.0, 1, 0, 4], [2.0, 2, 5, 4])
    first, second = both("NumRet(rel=1)", counts)
    assert (first.figure, second.figure) == (8, 13)
    low, high = confidence_interval(counts[0])
    assert (first.low, first.high) == pytest.approx((4 * low, 4 * high))
    assert second.p_value == paired_test(counts[1], counts[0])


class _Most(Agg):  # type: ignore[misc]
    def __init__(self) -> None:
        self.most = 0.0

    def add(self, value: float) -> None:
        self.most = max(self.most, value)

    def result(self) -> float:
        return self.most


class _Maximum(ColumnarMeasure):
    """The best value of a query, of which nothing is declared."""

    __name__ = "Maximum"
    NAME = __name__

    def aggregator(self) -> Agg:
        return _Most()


def test_a_figure_of_which_nothing_is_known_is_refused() -> None:
    evaluations = {name: evaluation(BASE, {"most": _Maximum()}) for name in "bs"}
    with pytest.raises(InputError, match="neither a mean nor a sum"):
        compare(evaluations, "most", baseline="b")


@pytest.mark.parametrize("name", sorted(ir_measures.measures.registry))
def test_the_summary_of_every_measure_is_what_its_aggregator_does(name: str) -> None:
    measure = ir_measures.measures.registry[name]
    summary = summary_of(measure)
    assert summary is not None
    values = np.array([BASE, BETTER, RANKS[0]])
    for row, figure in zip(values, summary.figures(values), strict=True):
        aggregator = measure.aggregator()
        for value in row.tolist():
            aggregator.add(value)
        assert figure == pytest.approx(aggregator.result())


@pytest.mark.parametrize("test", ["student", "fisher"])
def test_a_test_of_means_is_refused_for_a_median(test: Any) -> None:
    with pytest.raises(InputError, match="a median over queries, which the test") as caught:
        both("MedianRank", RANKS, test=test)
    assert caught.value.remedy == "--test wilcoxon or --measure Rank"


def test_figures_are_looked_up_by_measures_and_their_names() -> None:
    found = evaluation(BASE, parse_measures("AP"))
    assert list(found) == ["AP"]
    assert "AP" in found
    assert "RR" not in found
    assert found[ir_measures.AP] == found["AP"] == pytest.approx(np.mean(BASE))
    assert found.per_query(ir_measures.AP).tolist() == BASE
    with pytest.raises(InputError, match="no measure 'RR' among the scores"):
        found["RR"]

"""Measures by name and aggregation in pt.Experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ir_measures

from irtoolkit.integrations.pyterrier._pyterrier import pt
from irtoolkit.measures.base import ColumnarMeasure

if TYPE_CHECKING:
    pass


def announce_measures() -> None:
    """Registers our measures in PyTerrier's list, and lets it parse them.

    pt.Experiment parses text only as trec_eval's names ("map"), so not as ir_measures' own
    ("nDCG@10"). Any other name is now looked up among those.
    """
    for name, measure in ir_measures.measures.registry.items():
        if isinstance(measure, ColumnarMeasure):
            setattr(pt.measures, name, measure)
    original: Callable[[str], list[Any]] = ir_measures.parse_trec_measure

    def parse(name: str) -> list[Any]:
        try:
            return original(name)
        except ValueError:
            measure = _parsed(name)
            if measure is None:
                raise
            return [measure]

    ir_measures.parse_trec_measure = parse


def aggregate_as_measures_say() -> None:
    """Makes pt.Experiment average our measures by their own aggregator.

    It takes the mean of every measure, although ir_measures consults the measure: a median of ranks
    would be printed as their mean.
    """
    from pyterrier._evaluation import _rendering

    if not hasattr(_rendering, "_mean_of_measures"):
        return
    original: Callable[..., dict[str, float]] = _rendering._mean_of_measures

    def means(result: dict[str, dict[str, float]], *args: Any, **kwargs: Any) -> dict[str, float]:
        averages: dict[str, float] = original(result, *args, **kwargs)
        for name in averages:
            measure = _parsed(name)
            if isinstance(measure, ColumnarMeasure):
                aggregator: Any = measure.aggregator()
                for values in result.values():
                    aggregator.add(values[name])
                averages[name] = float(aggregator.result())
        return averages

    _rendering._mean_of_measures = means


def _parsed(name: str) -> Any | None:
    """Returns the measure of a name as ir_measures writes it, or None."""
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except Exception:  # ir_measures has no error of its own
        return None
    return measure

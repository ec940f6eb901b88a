"""Base class of irtoolkit's measures: ir_measures measures that are computed on arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ir_measures import Metric, providers
from ir_measures.measures import Measure

from irtoolkit.base.ids import Floats
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.traits import Traits
from irtoolkit.runs import Qrels, Run


class ColumnarMeasure(Measure):  # type: ignore[misc]
    """Base class of a measure: a subclass declares its parameters and implements `per_query`.

    ir_measures parses and prints a measure by its `__name__`.

    Attributes:
        ALWAYS_SHOWN: parameters that are printed even with their default value, because the bare name
            would be ambiguous.
        TRAITS: the measure's traits, see `irtoolkit.measures.traits`.
    """

    ALWAYS_SHOWN: ClassVar[tuple[str, ...]] = ()
    TRAITS: ClassVar[Traits] = Traits()

    @property
    def traits(self) -> Traits:
        """The traits of this measure with its parameters; by default TRAITS."""
        return self.TRAITS

    def __repr__(self) -> str:
        parameters = {
            name: self[name]
            for name, info in self.SUPPORTED_PARAMS.items()
            if name != self.AT_PARAM and (name in self.ALWAYS_SHOWN or self[name] != info.default)
        }
        text = ",".join(f"{name}={self._param_repr(value)}" for name, value in parameters.items())
        cut = f"@{self.params[self.AT_PARAM]}" if self.AT_PARAM in self.params else ""
        return f"{self.NAME}({text}){cut}" if text else f"{self.NAME}{cut}"

    def per_query(self, judged: JudgedRun) -> Floats:
        """Returns the values of the measure, (Q,), in the order of `judged.query_ids`."""
        raise NotImplementedError


class ColumnarProvider(providers.Provider):  # type: ignore[misc]
    """ir_measures provider of every ColumnarMeasure."""

    NAME = "irtoolkit"

    def supports(self, measure: Measure) -> bool:
        if isinstance(measure, ColumnarMeasure):
            measure.validate_params()
            return True
        return False

    def _evaluator(self, measures: Iterable[ColumnarMeasure], qrels: Any) -> ColumnarEvaluator:
        return ColumnarEvaluator(list(measures), Qrels.of(qrels, empty=True))


class ColumnarEvaluator(providers.Evaluator):  # type: ignore[misc]
    """ir_measures evaluator of runs with fixed measures and qrels."""

    def __init__(self, measures: list[ColumnarMeasure], qrels: Qrels) -> None:
        super().__init__(measures, list(qrels.query_ids))
        self.qrels = qrels

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        judged = JudgedRun.of(Run.of(run, empty=True), self.qrels)
        for measure in self.measures:
            values = measure.per_query(judged).tolist()
            for query_id, value in zip(judged.query_ids, values, strict=True):
                yield Metric(query_id=query_id, measure=measure, value=value)

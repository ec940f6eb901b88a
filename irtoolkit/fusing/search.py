"""The search for a fusion: every configuration on the queries that a fold leaves over.

For each fold of queries, the configuration is chosen that is best on the other queries, and fuses the
queries of the fold. So the run of all folds is held out for every query: no judgment of a query has
decided how its documents are ranked (Stone 1974; nested, as Cawley and Talbot 2010 ask for). What
has to be trained, as LambdaMART, is judged on the other queries by an inner cross-validation over
these, and trained on all of them to fuse the queries of the fold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ir_measures import Measure

from irtoolkit.base.arguments import check_fields
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.fusing.configurations import Configuration, configurations, untrained
from irtoolkit.measures.traits import traits
from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_methods import Method
from irtoolkit.runs import Run
from irtoolkit.runs.parts import joined, judgments, restricted
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.folds import Fold, books_of, dealt, kept_together
from irtoolkit.scoring.score import score

# The name and tag of a run that is held out.
HELD_OUT = "tuned-fusion"


# The methods that are tried unless others are named.
DEFAULT_METHODS = ("rrf", "weighted", "combsum", "combmnz", "rankproduct")


@dataclass(frozen=True)
class FusionSearch:
    """The configurations that a search tries, and its cross-validation.

    Attributes:
        methods: names of methods: irtoolkit's, ranx's that are not trained, and "lambdamart".
        normalise: normalisations, for the methods that read scores.
        step: between weights; by default 0.05 for two runs, 0.1 for three and 0.2 for more.
        grid: values of the methods' numbers, for example {"k": [10, 60]}.
        folds: number of folds of the queries, or of whole books where there are several; by default
            the dataset's own, or 5.
        inner: folds of the inner cross-validation, for methods that are trained.
        seed: of the folds and of training.
        depth: rows of each fused ranking; None is all.
    """

    methods: Sequence[str] = DEFAULT_METHODS
    normalise: Sequence[str] = ("minmax", "zscore", "sum")
    step: float | None = None
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    folds: int | None = None
    inner: int = 3
    seed: int = 0
    depth: int | None = None

    def configurations(self, count: int) -> list[Configuration]:
        """Returns the configurations to try for a number of runs; see `configurations`."""
        return configurations(count, self.methods, self.normalise, self.step, self.grid)

    def __post_init__(self) -> None:
        for name in ("methods", "normalise"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        check_fields(self)
        if self.inner < 2:
            raise InputError(f"{self.inner} inner folds", remedy="take at least 2")
        if self.seed < 0:
            raise InputError(f"seed {self.seed} is below 0")
        if self.depth is not None and self.depth < 1:
            raise InputError(f"depth {self.depth} is not at least 1")


@dataclass(frozen=True)
class TriedFusion:
    """A configuration with its figures.

    Attributes:
        configuration: the method and its settings.
        others: for each fold, its figure on the queries of the other folds, by which it is chosen; for
            a trained method by inner cross-validation over these.
        held_out: for each fold, its figure on the fold's own queries, which decides nothing there.
        figure: the benchmark's figure over all queries; for a trained method over queries that
            it was not trained on. It decides which configuration is learned for other runs.
    """

    configuration: Configuration
    others: tuple[float, ...]
    held_out: tuple[float, ...]
    figure: float


@dataclass(frozen=True)
class FusionBench:
    """A bench that evaluates configurations on one dataset; can be sent to workers.

    Attributes:
        dataset: with judgments.
        runs: the runs to fuse.
        name, measure: the measure that decides.
        folds: the queries in parts.
        search: the inner folds, and the depth.
    """

    dataset: Dataset
    runs: tuple[Run, ...]
    name: str
    measure: Measure
    folds: tuple[Fold, ...]
    search: FusionSearch

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """The queries of all folds."""
        return tuple(query_id for fold in self.folds for query_id in fold)

    @cached_property
    def books(self) -> dict[str, str]:
        """The book of each judged query, where the dataset tells it."""
        return books_of(self.dataset)

    def others(self, fold_index: int) -> tuple[str, ...]:
        """Returns the queries of all folds but one."""
        rest = self.folds[:fold_index] + self.folds[fold_index + 1 :]
        return tuple(query_id for fold in rest for query_id in fold)

    def tried(self, configuration: Configuration) -> TriedFusion:
        """Returns a configuration with its figures."""
        places = range(len(self.folds))
        if configuration.trained:
            whole = self.evaluated(
                self.fused(
                    self.made(configuration, self.others(fold_index)), self.folds[fold_index]
                )
                for fold_index in places
            )
            others = [self._inner(configuration, fold_index) for fold_index in places]
        else:
            whole = self.evaluated([self.fused(untrained(configuration), self.queries)])
            others = [self._over(whole, self.others(fold_index)) for fold_index in places]
        held_out = [self._over(whole, fold) for fold in self.folds]
        return TriedFusion(
            configuration, tuple(others), tuple(held_out), whole.figures()[self.name]
        )

    def inner_folds(self, fold_index: int) -> tuple[Fold, ...]:
        """Returns the folds of the other queries of a fold.

        Raises:
            InputError: there is only one other query.
        """
        others = self.others(fold_index)
        if len(others) < 2:
            raise InputError(
                f"{len(others)} other query to train a fusion on",
                remedy="tune on more queries, or other methods",
            )
        count = min(self.search.inner, len(kept_together(others, self.books)))
        return dealt(others, count, (self.search.seed, fold_index + 1), self.books)

    def _inner(self, configuration: Configuration, fold_index: int) -> float:
        """Returns the figure on the other queries of a fold, each trained without it."""
        others = self.others(fold_index)
        evaluation = self.evaluated(
            self.fused(self.made(configuration, {*others} - {*fold}), fold)
            for fold in self.inner_folds(fold_index)
        )
        return self._over(evaluation, others)

    def made(self, configuration: Configuration, query_ids: Collection[str]) -> Method:
        """Returns the method of a configuration, trained on some queries if it has to be."""
        method = untrained(configuration)
        if not configuration.trained:
            return method  # type: ignore[no-any-return]
        runs = [restricted(run, query_ids) for run in self.runs]
        qrels = judgments(self.dataset.qrels, query_ids)
        return method.trained(runs, qrels, self.search.seed)  # type: ignore[no-any-return]

    def fused(self, method: Method, query_ids: Collection[str]) -> Run:
        """Returns some queries fused by a method."""
        runs = [restricted(run, query_ids) for run in self.runs]
        return fuse(runs, method, depth=self.search.depth, progress=False).untied()

    def evaluated(self, parts: Iterable[Run]) -> Evaluation:
        """Returns the values of runs that share no query."""
        listed = list(parts)
        queries = [query_id for part in listed for query_id in part.query_ids.tolist()]
        run = joined(listed, HELD_OUT, queries)
        measures = {self.name: self.measure}
        return score(self.dataset, run, measures, names=[HELD_OUT])[HELD_OUT]

    def _over(self, evaluation: Evaluation, query_ids: Collection[str]) -> float:
        return evaluation.over(query_ids)[self.name]

    def best(self, figures: Sequence[float]) -> int:
        """Returns the position of the best figure, the first of equals.

        Raises:
            InputError: none is a number.
        """
        sign = -1 if traits(self.measure).lower_is_better else 1
        defined = [position for position, figure in enumerate(figures) if figure == figure]
        if not defined:
            raise InputError(f"{self.name} of the fused runs is not a number", remedy="rank deeper")
        return max(defined, key=lambda position: (sign * figures[position], -position))

    def held_out(self, chosen: Sequence[Configuration], learned: Method) -> Run:
        """Returns the run whose folds are fused by their choices.

        Other queries by the learned method.
        """
        parts = [
            self.fused(self.made(configuration, self.others(fold_index)), self.folds[fold_index])
            for fold_index, configuration in enumerate(chosen)
        ]
        order = list(dict.fromkeys(q for run in self.runs for q in run.query_ids.tolist()))
        rest = {*order} - {*self.queries}
        if rest:
            parts.append(self.fused(learned, rest))
        return joined(parts, HELD_OUT, order).untied()

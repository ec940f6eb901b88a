"""ranx's methods of fusion by name, with checked settings.

irtoolkit's own methods, for example rrf and condorcet, do not need ranx. The methods that ranx
trains on judgments estimate how good each rank of each run is, and add these estimates up.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from irtoolkit.base.arguments import check_type
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.plurals import number_of
from irtoolkit.integrations.ranx_kinds import KINDS, SEGMENTS
from irtoolkit.integrations.ranx_objects import (
    check_ordered,
    load_ranx,
    normalised_for_ranx,
    threads_kept,
    to_ranx,
)
from irtoolkit.ranking.fusion_methods import (
    METHODS,
    Method,
    WholeRunMethod,
    as_whole,
    finite_weights,
    method_named,
)
from irtoolkit.ranking.normalisation import check_normalisation
from irtoolkit.retrievers.system_names import nearly
from irtoolkit.runs import Run

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset

PREFIX = "ranx:"
# bayesfuse reads beyond the end of its table of ranks, without an error.
_BAYES_DEPTH = 1000
# Names of normalisations, here and in ranx.
_NORMS = {
    "minmax": "min-max",
    "zscore": "zmuv",
    "sum": "sum",
    "max": "max",
    "rank": "rank",
    "borda": "borda",
    "none": None,
}
NORMALISATIONS = tuple(_NORMS)


@dataclass(frozen=True)
class RanxMethod(WholeRunMethod):
    """A method of fusion that ranx computes.

    Attributes:
        method: its name in ranx.
        parameters: its numbers by name.
        weights: one for each run, if it takes weights.
        normalise: how scores are normalised; None if it reads ranks only.
        train: the judgments it is trained on, if it is trained.
        train_runs: runs to train on, in the order of those to fuse; empty if they are the same.
    """

    name: ClassVar[str] = "ranx"

    method: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None
    normalise: str | None = None
    train: Dataset | None = None
    train_runs: tuple[Any, ...] = ()

    @property
    def tag(self) -> str:
        return self.method

    def settings(self) -> dict[str, Any]:
        parameters = {name: as_whole(value) for name, value in self.parameters.items()}
        settings: dict[str, Any] = {"method": self.method, **parameters}
        if self.weights is not None:
            settings["weights"] = list(self.weights)
        if self.normalise is not None:
            settings["normalise"] = self.normalise
        if self.train is not None:
            settings["train"] = self.train.id
        if self.train_runs:
            names = [run if isinstance(run, str) else Run.of(run).tag for run in self.train_runs]
            settings["train_runs"] = names
        return settings

    def check(self, count: int) -> None:
        for kind, value in (("weights", self.weights), ("train_runs", self.train_runs or None)):
            if value is not None and len(value) != count:
                raise InputError(
                    f"{number_of(len(value), kind)} for {number_of(count, 'runs')}",
                    remedy="give one for each run",
                )

    @property
    def module(self) -> str:
        """The last part of the name of the module of ranx that has the method."""
        return str(load_ranx().fusion.fusion_switch(self.method).__module__).rpartition(".")[2]

    def seen(self, query_ids: Iterable[str]) -> int:
        """Returns how many of some queries it is trained on: figures on these are too high."""
        training_queries = set() if self.train is None else set(self.train.qrels.query_ids.tolist())
        return len(training_queries.intersection(query_ids))

    def scores(
        self, runs: Sequence[Run], query_ids: Sequence[str]
    ) -> Iterator[Mapping[str, float]]:
        ranx = load_ranx()
        self._check_runs(runs)
        params: dict[str, Any] = dict(self.parameters)
        if self.weights is not None:
            params["weights"] = list(self.weights)
        norm = None if self.normalise is None else _NORMS[self.normalise]
        with threads_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba's, on ranx's code
            if self.train is not None:
                params |= self._trained(ranx, runs)
                params.pop(SEGMENTS.name, None)  # which only training takes
            theirs, excluded = normalised_for_ranx(runs, query_ids, norm)
            fused = ranx.fuse(runs=theirs, norm=excluded, method=self.method, params=params)
        for query_id in query_ids:
            yield {str(doc): float(score) for doc, score in fused.run[query_id].items()}

    def _check_runs(self, runs: Sequence[Run]) -> None:
        """Raises InputError for runs of which ranx would silently make nonsense."""
        for run in runs:
            counts = np.diff(run.offsets)
            if self.method == "bayesfuse" and counts.max(initial=0) > _BAYES_DEPTH:
                raise InputError(
                    f"ranx's bayesfuse knows {_BAYES_DEPTH} ranks, and {run.tag} lists up to"
                    f" {counts.max()}",
                    remedy=f"give runs of at most {_BAYES_DEPTH} documents for each query",
                )
            filled = counts > 0
            highest = run.scores[run.offsets[:-1][filled]]
            if self.normalise == "max" and (highest <= 0).any():
                query = run.query_ids[filled][np.argmax(highest <= 0)]
                raise InputError(
                    f"the highest score of {run.tag} for query {query} is not above 0, and max"
                    " divides by it",
                    remedy="use --normalise minmax",
                )

    def _trained(self, ranx: Any, runs: Sequence[Run]) -> dict[str, Any]:
        """Returns the parameter that ranx estimates, from training runs and judgments."""
        assert self.train is not None
        qrels = self.train.qrels
        train_runs = [Run.of(run) for run in self.train_runs] or list(runs)
        listed = set().union(*(run.query_ids.tolist() for run in train_runs))
        shared = [query for query in qrels.query_ids if query in listed]
        if not shared:
            raise InputError(
                f"the runs to train {self.method} on have no query that {self.train.id} judges",
                remedy="name runs of its queries with --train-runs",
            )
        judged = to_ranx(qrels, shared)
        ranx_runs = [to_ranx(run, shared) for run in train_runs]
        estimate = getattr(ranx.fusion, f"{self.method}_train")
        options = {"n_segments": self.parameters["n_segments"]} if self.method == "probfuse" else {}
        parameter = KINDS[self.method].trained
        assert parameter is not None
        return {parameter: estimate(judged, ranx_runs, **options)}


def fusion_method(name: str, settings: Mapping[str, Any]) -> Method:
    """Returns a method of fusion by name: irtoolkit's, or else ranx's.

    Args:
        name: one of irtoolkit's METHODS; or a name of ranx, which "ranx:" may precede.
        settings: its parameters by name: numbers, `weights`, `normalise`; for trained methods also
            `train` (a dataset, or anything that `Dataset.of` takes) and `train_runs`.

    Raises:
        InputError: there is no such method; a parameter is unknown, missing or has a wrong value;
            ranx is not installed.
    """
    name = name if name in METHODS else nearly(name, (*METHODS, *KINDS)) or name
    method_name = name.removeprefix(PREFIX)
    if method_name != name:
        check_ordered(method_name)
    if method_name not in KINDS or name in METHODS:
        try:
            return method_named(name, settings)
        except InputError as error:
            if name in METHODS:
                raise
            guess = did_you_mean(name, [*KINDS, *METHODS]).strip()
            listed = f"there are {', '.join(METHODS)}, and those of ranx"
            raise InputError(error.found, remedy=guess or listed) from None
    load_ranx()
    return _ranx_method(method_name, dict(settings))


def _ranx_method(name: str, settings: dict[str, Any]) -> RanxMethod:
    kind = KINDS[name]
    takes = [parameter.name for parameter in kind.parameters]
    takes += ["weights"] * kind.weights + ["normalise"] * kind.scores
    takes += ["train", "train_runs"] * (kind.trained is not None)
    for key in settings:
        if key not in takes:
            raise InputError(
                f"method {name} takes no {key}",
                remedy=f"it takes {', '.join(takes)}" if takes else "it takes no settings",
            )
    parameters: dict[str, float] = {}
    for parameter in kind.parameters:
        value = settings.get(parameter.name, parameter.default)
        if value is None:
            raise InputError(f"method {name} needs {parameter.name}", remedy=parameter.says)
        parameters[parameter.name] = parameter.of(value)
    if kind.weights and "weights" not in settings:
        raise InputError(f"method {name} needs weights", remedy="one for each run")
    if kind.trained is not None and settings.get("train") is None:
        raise InputError(
            f"method {name} is trained on judgments", remedy="name a dataset with --train"
        )
    normalise = settings.get("normalise", "minmax") if kind.scores else None
    if kind.scores:
        check_normalisation(normalise, NORMALISATIONS)
    train = None
    train_runs = settings.get("train_runs") or ()
    if kind.trained is not None:
        check_type("train_runs", train_runs, Sequence[Any])
        from irtoolkit.datasets.dataset import Dataset

        train = Dataset.of(settings["train"])
    return RanxMethod(
        name,
        parameters,
        finite_weights(settings["weights"]) if kind.weights else None,
        normalise,
        train,
        tuple(train_runs),
    )

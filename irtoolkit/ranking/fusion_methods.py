"""Methods of fusion: what each run's rows count, and how the counts of several runs combine."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.arguments import check_type, shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, id_array
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.plurals import number_of
from irtoolkit.ranking.condorcet import condorcet_order
from irtoolkit.ranking.normalisation import Normalise, check_normalisation, normalised
from irtoolkit.runs import Run
from irtoolkit.runs.order import tie_order


@dataclass(frozen=True)
class Method(ABC):
    """A method of fusion: a frozen dataclass whose fields are its parameters."""

    name: ClassVar[str]

    @property
    def tag(self) -> str:
        """The tag of a run that it makes, unless another is given."""
        return self.name

    def check(self, count: int) -> None:
        """Raises an InputError where the parameters do not fit the number of runs."""
        return

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value; 60 and 60.0 are one."""
        return {name: as_whole(value) for name, value in asdict(self).items()}


class WholeRunMethod(Method):
    """A method that scores all documents of all runs at once, as other libraries do."""

    @abstractmethod
    def scores(
        self, runs: Sequence[Run], query_ids: Sequence[str]
    ) -> Iterable[Mapping[str, float]]:
        """The fused score of each document, for each query in order.

        Args:
            runs: two or more.
            query_ids: the queries of all runs; a run may lack some of them.
        """


@dataclass(frozen=True)
class PointMethod(Method):
    """A method that gives each row of a run points, and combines the points of each document."""

    @abstractmethod
    def points(self, run: Run, position: int) -> Floats:
        """(N,) points that each row of a run adds; `position` is the run's position in the list."""

    def combine(self, points: Floats, listed: NDArray[np.bool_]) -> Floats:
        """(p,) fused scores of p documents.

        The sum does not depend on the order of the runs. Added in another order, the same points
        may differ in the last bit, and documents that tie would tie no longer.

        Args:
            points: (p, R) points of each document in each run; 0 where the run does not list it.
            listed: (p, R) whether the run lists the document.
        """
        if points.shape[1] > 2:
            points = np.sort(points, axis=1)
        total: Floats = points.sum(axis=1)
        return total


@dataclass(frozen=True)
class ReciprocalRank(PointMethod):
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): the sum of 1 / (k + rank).

    Ranks count from 1.
    """

    name: ClassVar[str] = "rrf"

    k: float = 60

    def __post_init__(self) -> None:
        _check_k(self.k)

    def points(self, run: Run, position: int) -> Floats:
        return 1 / (self.k + run.ranks)


@dataclass(frozen=True)
class RankProduct(PointMethod):
    """The inverse of the product of ranks, of which those beyond k count k + 1.

    This is the top-k rank multiplication of Ahn et al. 2016, as its name says it: of the paper only
    the abstract could be read. What a rank beyond k counts and the default of k are ours. Ranks count
    from 1; a document that a run does not list has the rank k + 1.
    """

    name: ClassVar[str] = "rankproduct"

    k: float = 100

    def __post_init__(self) -> None:
        _check_k(self.k)

    def points(self, run: Run, position: int) -> Floats:
        return np.minimum(run.ranks, self.k + 1).astype(np.float64)

    def combine(self, points: Floats, listed: NDArray[np.bool_]) -> Floats:
        ranks = np.where(listed, points, self.k + 1)
        total: Floats = 1 / np.prod(np.sort(ranks, axis=1), axis=1)
        return total


@dataclass(frozen=True)
class CombSUM(PointMethod):
    """The sum of normalised scores (Fox and Shaw 1994)."""

    name: ClassVar[str] = "combsum"

    normalise: Normalise = "minmax"

    def __post_init__(self) -> None:
        check_normalisation(self.normalise)

    def points(self, run: Run, position: int) -> Floats:
        return normalised(run, self.normalise)


@dataclass(frozen=True)
class CombMNZ(CombSUM):
    """The sum of normalised scores, times the number of runs that list the document."""

    name: ClassVar[str] = "combmnz"

    def combine(self, points: Floats, listed: NDArray[np.bool_]) -> Floats:
        total: Floats = super().combine(points, listed) * listed.sum(axis=1)
        return total


@dataclass(frozen=True)
class Weighted(PointMethod):
    """The weighted sum of normalised scores, with one finite weight for each run in order."""

    name: ClassVar[str] = "weighted"

    weights: tuple[float, ...]
    normalise: Normalise = "minmax"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", finite_weights(self.weights))
        check_normalisation(self.normalise)

    def check(self, count: int) -> None:
        check_weights(self.weights, count)

    def points(self, run: Run, position: int) -> Floats:
        return self.weights[position] * normalised(run, self.normalise)


@dataclass(frozen=True)
class Condorcet(WholeRunMethod):
    """Condorcet fusion (Montague and Aslam 2002): documents by majorities of the runs.

    Runs vote on every pair of documents, see `condorcet_order`. The score of a document is the number
    of documents from it to the last one.
    """

    name: ClassVar[str] = "condorcet"

    def scores(
        self, runs: Sequence[Run], query_ids: Sequence[str]
    ) -> Iterator[Mapping[str, float]]:
        votes = self._votes(len(runs))
        for query_id in query_ids:
            ranks = [
                {row.doc_id: rank for rank, row in enumerate(run.ranking(query_id), 1)}
                for run in runs
            ]
            docs = tie_order(id_array(sorted(set().union(*ranks)))).tolist()
            last = len(docs) + 1
            table = np.array([[rank_of.get(doc, last) for doc in docs] for rank_of in ranks])
            order = condorcet_order(table, votes)
            yield {docs[index]: float(last - rank) for rank, index in enumerate(order, 1)}

    def _votes(self, count: int) -> Floats:
        """(R,) the votes of each run."""
        return np.ones(count)


@dataclass(frozen=True)
class WeightedCondorcet(Condorcet):
    """Condorcet fusion in which each run has as many votes as its weight says."""

    name: ClassVar[str] = "w_condorcet"

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", finite_weights(self.weights))

    def check(self, count: int) -> None:
        check_weights(self.weights, count)

    def _votes(self, count: int) -> Floats:
        return np.array(self.weights)


METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        ReciprocalRank,
        Weighted,
        CombSUM,
        CombMNZ,
        RankProduct,
        Condorcet,
        WeightedCondorcet,
    )
}


def as_whole(value: Any) -> Any:
    """Returns a float that is a whole number as an int, and anything else as it is."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole else value


def _check_k(k: Any) -> None:
    if not isinstance(k, int | float) or not 0 <= number(k) < math.inf:
        raise InputError(f"k={shown_value(as_whole(k))} is not a finite number of at least 0")


def number(value: Any) -> float:
    """A number from what was given; NaN where that is none, or too large for a float."""
    if isinstance(value, bool):  # which Python takes for a number
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def finite(value: Any, label: str) -> float:
    """A finite number from what was given, which an InputError calls as `label` says."""
    converted = number(value)
    if not math.isfinite(converted):
        raise InputError(f"{label} is not a finite number")
    return converted


def finite_weights(values: Any) -> tuple[float, ...]:
    """Weights of runs; refused where they are no list, or one is no finite number."""
    weights = list(values) if isinstance(values, Iterator) else values
    check_type("weights", weights, Sequence[float])
    return tuple(finite(value, f"weight {shown_value(value)}") for value in weights)


def check_weights(weights: Sequence[float], count: int) -> None:
    """Raises InputError unless there is one weight for each run."""
    if len(weights) != count:
        raise InputError(
            f"{number_of(len(weights), 'weights')} for {count} runs", remedy="give one for each run"
        )


def method_named(name: str, settings: Mapping[str, Any]) -> Method:
    """The fusion method with a name and its parameters.

    Args:
        name: one of METHODS.
        settings: parameters by name, such as {"k": 60}.

    Raises:
        InputError: there is no such method; a parameter is unknown, missing or has a wrong value.
    """
    if name not in METHODS:
        raise InputError(
            f"no fusion method {name!r}",
            remedy=f"{did_you_mean(name, METHODS)}there are {', '.join(METHODS)}",
        )
    takes = {field.name: field.default is MISSING for field in fields(METHODS[name])}
    for key in settings:
        if key not in takes:
            raise InputError(
                f"method {name} takes no {key}",
                remedy=f"{did_you_mean(key, takes)}it takes {', '.join(takes)}",
            )
    for key, needed in takes.items():
        if needed and key not in settings:
            raise InputError(f"method {name} needs {key}")
    return METHODS[name](**settings)

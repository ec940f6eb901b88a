"""Optimal transport between the parts of two texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.threads import pool
from irtoolkit.retrievers.base import ScoreMatrix

# Sinkhorn's rounds at the regularisation asked for, and the error of the masses that ends them.
_ROUNDS, _ERROR = 1000, 1e-9
# Rounds at each of the larger regularisations before, which are halved (Schmitzer 2019, §3.2).
_BEFORE = 10


@dataclass(frozen=True)
class Transport:
    """How parts are transported.

    Attributes:
        uniform: whether the parts of a text have equal masses; else the softmax of each part's
            greatest similarity with a part of the other text, divided by `temperature` (Mysore et
            al. 2022, §3.3).
        temperature: above 0.
        regularisation: the weight of the entropy in Sinkhorn's algorithm (Cuturi 2013); 0 for the
            exact optimum.
    """

    uniform: bool = False
    temperature: float = 1.0
    regularisation: float = 0.05

    def masses(self, similarities: Floats, axis: int) -> Floats:
        """The masses of one text's parts, given similarities with those of the other.

        Args:
            similarities: (m, n).
            axis: 0 for the parts of the rows, 1 for those of the columns.
        """
        if self.uniform:
            return np.full(similarities.shape[axis], 1 / similarities.shape[axis])
        best = similarities.max(axis=1 - axis) / self.temperature
        shares = np.exp(best - best.max())
        masses: Floats = shares / shares.sum()
        return masses

    def fill(
        self, similarities: ScoreMatrix, rows: Ints, columns: Ints, most: float, scores: ScoreMatrix
    ) -> None:
        """Fills in (q, c) negated costs of transport between queries and documents.

        The cost of moving a unit of mass is `most` minus the similarity.

        Args:
            similarities: (sum of queries' parts, sum of documents' parts).
            rows, columns: (q+1,) and (c+1,) where each text's parts begin.
            most: the similarity of equal parts.
            scores: (q, c) to be filled.
        """
        step = -(-len(scores[0]) // (4 * cores()))

        def part(first: int) -> None:
            for doc in range(first, min(first + step, len(scores[0]))):
                for query in range(len(scores)):
                    pair = similarities[
                        rows[query] : rows[query + 1], columns[doc] : columns[doc + 1]
                    ]
                    scores[query, doc] = -self.cost(pair.astype(np.float64), most)

        with pool(cores()) as workers:
            for _ in workers.map(part, range(0, len(scores[0]), step)):
                pass

    def cost(self, similarities: Floats, most: float) -> float:
        """The cost of transport between two texts, given (m, n) similarities of their parts."""
        masses, other_masses = self.masses(similarities, 0), self.masses(similarities, 1)
        return float(
            (self.plan(masses, other_masses, most - similarities) * (most - similarities)).sum()
        )

    def plan(self, masses: Floats, other_masses: Floats, costs: Floats) -> Floats:
        """(m, n) the mass that goes from each part to each part of the other text.

        Args:
            masses: (m,) masses, whose sum is 1.
            other_masses: (n,) masses, whose sum is 1.
            costs: (m, n) of a unit of mass.
        """
        if self.regularisation:
            plan: Floats = _kernel()(masses, other_masses, costs, float(self.regularisation))
            return plan
        import ot

        return np.asarray(ot.emd(masses, other_masses, costs))


@cache
def _kernel() -> Callable[..., Any]:
    import numba

    # In logarithms, as small regularisations take exponentials out of the range of numbers.
    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def balance(potentials: Any, masses: Any, costs: Any, others: Any, weight: float) -> float:
        """One half of a round: the potentials of the rows; returns the error of their masses."""
        error = 0.0
        for i in range(len(potentials)):
            top = -np.inf
            for j in range(len(others)):
                top = max(top, (others[j] - costs[i, j]) / weight)
            total = 0.0
            for j in range(len(others)):
                total += np.exp((others[j] - costs[i, j]) / weight - top)
            potential = weight * (np.log(masses[i]) - top - np.log(total))
            error += abs(np.exp((potentials[i] - potential) / weight) - 1) * masses[i]
            potentials[i] = potential
        return error

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def feasible(plan: Any, first: Any, second: Any) -> None:
        """Gives a plan exactly the masses it should have (Altschuler et al. 2017, algorithm 2)."""
        for i in range(len(first)):
            plan[i] *= min(1.0, first[i] / max(plan[i].sum(), 1e-300))
        for j in range(len(second)):
            plan[:, j] *= min(1.0, second[j] / max(plan[:, j].sum(), 1e-300))
        # Below 0 only by rounding.
        lacks = np.maximum(first - plan.sum(axis=1), 0.0)
        total = lacks.sum()
        if total > 0:
            wants = np.maximum(second - plan.sum(axis=0), 0.0)
            for i in range(len(first)):
                plan[i] += lacks[i] * wants / total

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def sinkhorn(first: Any, second: Any, costs: Any, weight: float) -> Any:
        rows, columns = np.zeros(len(first)), np.zeros(len(second))
        turned = np.ascontiguousarray(costs.T)
        first, second = np.maximum(first, 1e-300), np.maximum(second, 1e-300)
        larger = max(weight, costs.max())
        while larger > weight:
            for _ in range(_BEFORE):
                balance(rows, first, costs, columns, larger)
                balance(columns, second, turned, rows, larger)
            larger /= 2
        for _ in range(_ROUNDS):
            error = balance(rows, first, costs, columns, weight)
            balance(columns, second, turned, rows, weight)
            if error < _ERROR:
                break
        plan = np.empty(costs.shape)
        for i in range(len(first)):
            for j in range(len(second)):
                plan[i, j] = np.exp((rows[i] + columns[j] - costs[i, j]) / weight)
        feasible(plan, first, second)
        return plan

    kernel: Callable[..., Any] = sinkhorn
    return kernel

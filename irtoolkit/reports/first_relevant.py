"""Ranks of the first relevant document of each query, for each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.rank import Rank
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.exact_ranks import Ranks

# The last rank of each bin; higher ranks form one more bin.
EDGES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)


@dataclass(frozen=True, eq=False)
class FirstRelevant:
    """Ranks of the first relevant document, over the queries that have one.

    Attributes:
        rel: the lowest grade that counts as relevant.
        lacking: the number of queries without a relevant document, which are left out.
        ranks: for each system, (Q,) ranks in the order of the qrels' queries; infinite where the
            run does not list the document, NaN where no document is relevant.
        depths: for each system, the most rows that its run has for a query.
        exact: for each system, whether exact ranks over all candidates were known.
    """

    rel: int
    lacking: int
    ranks: tuple[NDArray[np.float64], ...]
    depths: tuple[int, ...]
    exact: tuple[bool, ...]

    @property
    def asked(self) -> int:
        """The number of queries with a relevant document."""
        return len(self.ranks[0]) - self.lacking

    def unknown(self, system: int) -> int:
        """The number of queries for which a system's rank is unknown."""
        return int(np.isinf(self.ranks[system]).sum())

    def highest(self) -> int:
        """The largest known rank of any system; 1 where no rank is known."""
        finite = [row[np.isfinite(row)] for row in self.ranks]
        return int(max((row.max() for row in finite if len(row)), default=1))

    def bins(self) -> list[tuple[str, list[int]]]:
        """(Range of ranks, number of queries of each system) pairs, the last for unknown ranks."""
        edges = [edge for i, edge in enumerate(EDGES) if not i or EDGES[i - 1] < self.highest()]
        limits, low = [], 1
        for edge in edges:
            name = f"{low}" if low == edge else f"{low}\u2013{edge}"
            limits.append((name, [int(((r >= low) & (r <= edge)).sum()) for r in self.ranks]))
            low = edge + 1
        if self.highest() >= low:
            beyond = [int((np.isfinite(r) & (r >= low)).sum()) for r in self.ranks]
            limits.append((f"{low} and more", beyond))
        if any(map(self.unknown, range(len(self.ranks)))):
            limits.append(("not in the run", [self.unknown(i) for i in range(len(self.ranks))]))
        return limits

    def share(self, system: int, rank: int) -> float:
        """The share of queries whose first relevant document is at a rank or above it."""
        return float((self.ranks[system] <= rank).sum()) / max(1, self.asked)


def first_ranks(run: Run, qrels: Qrels, ranks: Ranks | None, rel: int) -> NDArray[np.float64]:
    """(Q,) rank of the first relevant document; infinite where unknown, NaN where there is none."""
    ranks_found = Rank(rel=rel).per_query(JudgedRun.of(run, qrels, ranks))
    best = np.zeros(len(qrels.query_ids), dtype=bool)
    best[np.repeat(np.arange(len(best)), np.diff(qrels.offsets))[qrels.grades >= rel]] = True
    return np.where(best, ranks_found, np.nan)


def threshold(measures: Sequence[object]) -> int:
    """The lowest grade that the measures count as relevant; 1 where none has a threshold."""
    thresholds = [getattr(measure, "params", {}).get("rel") for measure in measures]
    return max((int(rel) for rel in thresholds if rel is not None), default=1)


def described(rel: int) -> str:
    """The name of a relevant document: with its grade, where that must be more than 1."""
    return "relevant document" if rel == 1 else f"document of grade {rel} or more"

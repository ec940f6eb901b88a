"""Where the systems put the gold: the rank of each query's first relevant document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.rank import Rank
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.exact_ranks import Ranks

# Last rank of each bin; what is beyond the last is a bin too.
EDGES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)


@dataclass(frozen=True, eq=False)
class FirstRelevant:
    """Ranks of the first relevant document, over the queries that have one.

    Attributes:
        rel: lowest grade that counts as relevant.
        lacking: number of queries without a relevant document, which are left out.
        ranks: of each system, (Q,) ranks in the order of the qrels' queries; infinite where the
            run does not tell, nan where nothing is relevant.
        depths: of each system, the most rows its run has for a query.
        exact: of each system, whether ranks over all candidates stood beside its run.
    """

    rel: int
    lacking: int
    ranks: tuple[NDArray[np.float64], ...]
    depths: tuple[int, ...]
    exact: tuple[bool, ...]

    @property
    def asked(self) -> int:
        """Number of queries with a relevant document."""
        return len(self.ranks[0]) - self.lacking

    def unknown(self, system: int) -> int:
        """Number of queries whose gold's rank the run does not tell."""
        return int(np.isinf(self.ranks[system]).sum())

    def highest(self) -> int:
        """The largest rank known of any system, 1 where none is."""
        known = [row[np.isfinite(row)] for row in self.ranks]
        return int(max((row.max() for row in known if len(row)), default=1))

    def bins(self) -> list[tuple[str, list[int]]]:
        """How many golds each system puts into each range of ranks, and has not at all."""
        edges = [edge for i, edge in enumerate(EDGES) if not i or EDGES[i - 1] < self.highest()]
        found, low = [], 1
        for edge in edges:
            name = f"{low}" if low == edge else f"{low}\u2013{edge}"
            found.append((name, [int(((r >= low) & (r <= edge)).sum()) for r in self.ranks]))
            low = edge + 1
        if self.highest() >= low:
            beyond = [int((np.isfinite(r) & (r >= low)).sum()) for r in self.ranks]
            found.append((f"{low} and more", beyond))
        if any(map(self.unknown, range(len(self.ranks)))):
            found.append(("not in the run", [self.unknown(i) for i in range(len(self.ranks))]))
        return found

    def share(self, system: int, rank: int) -> float:
        """Share of the queries whose gold stands at a rank or above it."""
        return float((self.ranks[system] <= rank).sum()) / max(1, self.asked)


def first_ranks(run: Run, qrels: Qrels, ranks: Ranks | None, rel: int) -> NDArray[np.float64]:
    """(Q,) rank of the first relevant document; infinite where it is not known, nan where none is."""
    found = Rank(rel=rel).per_query(JudgedRun.lay(run, qrels, ranks))
    best = np.zeros(len(qrels.query_ids), dtype=bool)
    best[np.repeat(np.arange(len(best)), np.diff(qrels.offsets))[qrels.grades >= rel]] = True
    return np.where(best, found, np.nan)


def threshold(measures: Sequence[object]) -> int:
    """The lowest grade that a benchmark's measures take as relevant, 1 where none says."""
    asked = [getattr(measure, "params", {}).get("rel") for measure in measures]
    return max((int(rel) for rel in asked if rel is not None), default=1)


def described(rel: int) -> str:
    """What counts as gold, in words."""
    return "relevant document" if rel == 1 else f"document of grade {rel} or more"

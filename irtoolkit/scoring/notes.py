"""What a reader of figures must know about the runs behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Note:
    """A warning about the run of one system.

    Attributes:
        system: the system, by the name it is scored under.
        kind: "missing" where judged queries are missing from the run; "shallow" where it lists
            less than the candidate pool and a measure takes the listed documents for the pool;
            "corpus" where it is scored with the whole corpus as candidates in place of pools;
            "unranked" where a figure is infinite, because the rank of a relevant document that it
            does not list is unknown.
        queries: the queries that it concerns, in order.
        judged: number of judged queries.
        measures: the measures that it concerns; empty where it concerns all.
    """

    system: str
    kind: Literal["missing", "shallow", "corpus", "unranked"]
    queries: tuple[str, ...]
    judged: int
    measures: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The warning as a sentence, without the name of the system."""
        if self.kind == "missing":
            return (
                f"lacks {len(self.queries)} of {self.judged} judged queries, the first"
                f" {min(self.queries)}; they count as zero"
            )
        if self.kind == "corpus":
            return (
                f"is scored with the corpus as candidates: {' and '.join(self.measures)} take the"
                " listed documents for the pool, and are not comparable with figures on pools"
            )
        if self.kind == "unranked":
            return (
                f"lists no relevant document for {len(self.queries)} of {self.judged} judged"
                f" queries, the first {self.queries[0]}, and has no exact ranks beside it, as runs"
                f" of irtoolkit retrieve have: {' and '.join(self.measures)} cannot be known"
            )
        return (
            f"lists less than the pool for {len(self.queries)} queries, the first"
            f" {self.queries[0]}: {' and '.join(self.measures)} take the listed documents for the"
            " whole pool, as the official scorer does, and are not comparable"
        )

    def __str__(self) -> str:
        return f"note: {self.system} {self.text}"

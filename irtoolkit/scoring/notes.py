"""Warnings for readers of figures about the runs behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from irtoolkit.base.plurals import number_of


@dataclass(frozen=True)
class Note:
    """A warning about the run of one system.

    Attributes:
        system: the system, by the name it is scored under; empty if it concerns the judgments.
        kind: "missing" if judged queries are missing from the run; "ranked" if they are, and their
            exact ranks are known; "shallow" if it lists
            less than the candidate pool and a measure takes the listed documents for the pool;
            "corpus" if it is scored with the whole corpus as candidates in place of pools;
            "unranked" if a figure is infinite, because the rank of a relevant document that it
            does not list is unknown; "unjudged" if none of its documents is judged; "absent" if
            judged documents are not in the collection; "excluded" if a grade may exclude documents;
            "left out" if documents of an excluded grade were left out of the run.
        queries: the queries that it concerns, in order.
        judged: number of judged queries.
        measures: the measures that it concerns; empty if it concerns all. Of "ranked" those that
            do not use exact ranks.
        documents: of "unjudged" a document of the run and a judged one; of "absent" the documents.
        rows: of "left out" the number of rows.
    """

    system: str
    kind: Literal[
        "missing",
        "ranked",
        "shallow",
        "corpus",
        "unranked",
        "unjudged",
        "absent",
        "excluded",
        "left out",
    ]
    queries: tuple[str, ...]
    judged: int
    measures: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    rows: int = 0

    @property
    def text(self) -> str:
        """The warning as a sentence, without the name of the system."""
        if self.kind in ("missing", "ranked"):
            return (
                f"lacks {len(self.queries)} of {self.judged} judged queries, the first"
                f" {min(self.queries)}; {self._counted}"
            )
        if self.kind == "excluded":
            return (
                "the judgments have the grade -100, which excludes documents in BRIGHT's: they stay in"
                " the runs unless --excluded -100 or excluded=-100 leaves them out"
            )
        if self.kind == "left out":
            rows = number_of(self.rows, "rows", ",")
            return f"is scored without {rows} whose documents are excluded for the query"
        if self.kind == "unjudged":
            listed, judged = self.documents
            return (
                f"lists no judged document: it has for example {listed}, and the judgments have"
                f" {judged}; are they of the same collection?"
            )
        if self.kind == "absent":
            return (
                f"the judgments have {number_of(len(self.documents), 'documents', ',')} outside the"
                f" collection, the first {self.documents[0]}; are they judgments of it?"
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
            f"lists less than the pool for {number_of(len(self.queries), 'queries')}, the first"
            f" {self.queries[0]}: {' and '.join(self.measures)} take the listed documents for the"
            " whole pool, as the official scorer does, and are not comparable"
        )

    @property
    def _counted(self) -> str:
        """How queries that the run lacks are scored."""
        if self.kind == "missing":
            return "they count as zero"
        zero = f"; {' and '.join(self.measures)} count them as zero" if self.measures else ""
        return (
            "their exact ranks are known and are scored: all documents have the score 0, in the order"
            f" of their ids{zero}"
        )

    def __str__(self) -> str:
        return f"note: {self.about}"

    @property
    def about(self) -> str:
        """The warning as a sentence, with the name of the system if it concerns one."""
        return f"{self.system} {self.text}".lstrip()

"""PairwiseReranker reranking: pairwise ranking prompting (PRP)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from irtoolkit.models.llm.generator import Completion
from irtoolkit.models.prompts import Template
from irtoolkit.retrievers.llm.choice import read_choice
from irtoolkit.retrievers.llm.reranker import (
    PassageScores,
    RankedQuery,
    Reranker,
    ordered_scores,
    scores_of_order,
)
from irtoolkit.retrievers.llm.rounds import Steps, together

_PROMPT = """Which of two passages is more relevant to a query?

Query: {query}

Passage A: {a}

Passage B: {b}

Write Passage A or Passage B, and nothing else.

The more relevant one is:"""


@dataclass(frozen=True)
class PairwiseReranker(Reranker):
    """Documents in the order of a language model's choices between two of them.

    Pairwise ranking prompting (Qin et al. 2023, §3). Each pair is asked in both orders: a document
    that is chosen in both is better; else the two are equal. "allpair" asks about all pairs; a
    document's score is the pairs it wins, and half of those it ties. "sorting" sorts by the
    choices: a merge sort, which asks less than the paper's heapsort. "sliding" compares neighbours from
    the end of the list to its top, `passes` times, which is a bubble sort of the best. Equal documents
    keep the order of the first stage. An answer that cannot be read makes a tie.

    Attributes:
        method: "sliding", "sorting" or "allpair". For n documents "allpair" takes n(n - 1) prompts,
            "sorting" about 2n log2 n, "sliding" up to 2n for each pass.
        passes: of "sliding"; as many documents come to the top.
        prompt: what the model is asked, with {query}, {a} and {b} where the query and the documents
            stand, and {field} where a field of the query's record does; braces are doubled.
        max_tokens: of an answer, which is a few words.
    """

    name: ClassVar[str] = "llm-pairwise"
    read_with: ClassVar = {"passes": ("method=sliding",)}
    document_names: ClassVar[tuple[str, ...]] = ("a", "b")

    max_tokens: int | None = 16
    method: Literal["sliding", "sorting", "allpair"] = "sliding"
    passes: int = 10
    prompt: str = _PROMPT

    def missing(self) -> str | None:
        if self.passes < 1:
            return f"passes={self.passes} is not at least 1"
        return super().missing()

    def needs_order(self) -> bool:
        return self.method != "allpair"

    def scored(
        self, template: Template, query: RankedQuery, docs: Sequence[str]
    ) -> Steps[PassageScores]:
        pairs = _Pairs(template, query, docs)
        if self.method == "allpair":
            return (yield from _all_pairs(pairs, len(docs)))
        places = list(range(len(docs)))
        if self.method == "sorting":
            order = yield from _merge_sorted(pairs, places)
        else:
            order = yield from _bubbled(pairs, places, self.passes)
        return scores_of_order(order)


@dataclass(frozen=True)
class _Pairs:
    """Comparisons of the documents of a query."""

    template: Template
    query: RankedQuery
    docs: Sequence[str]

    def prompts(self, first: int, second: int) -> list[str]:
        """The two prompts about a pair of documents."""
        return [
            self.template.filled({**self.query.fields, "a": self.docs[a], "b": self.docs[b]})
            for a, b in ((first, second), (second, first))
        ]

    def preferred(self, answers: Sequence[Completion]) -> int:
        """1 where the first document is better by both answers, -1 where the other is, else 0."""
        choices = [read_choice(answer) for answer in answers]
        for answer, choice in zip(answers, choices, strict=True):
            self.query.tally.count(answer, "whole" if choice else "none")
        self.query.tally.pairs += 1
        if choices == ["A", "B"]:
            return 1
        if choices == ["B", "A"]:
            return -1
        self.query.tally.torn += None not in choices
        return 0

    def compare(self, first: int, second: int) -> Steps[int]:
        """Asks which of two documents is better; see `preferred`."""
        answers = yield self.prompts(first, second)
        return self.preferred(answers)


def _all_pairs(pairs: _Pairs, count: int) -> Steps[PassageScores]:
    """Scores of all documents, each compared with each."""
    compared = list(combinations(range(count), 2))
    answers = (
        (yield [prompt for pair in compared for prompt in pairs.prompts(*pair)]) if compared else []
    )
    wins = np.zeros(count)
    for number, (first, second) in enumerate(compared):
        better = pairs.preferred(answers[2 * number : 2 * number + 2])
        wins[first] += (1 + better) / 2
        wins[second] += (1 - better) / 2
    return ordered_scores(wins, pairs.query)


def _bubbled(pairs: _Pairs, order: list[int], passes: int) -> Steps[list[int]]:
    """The order after passes from its end to its top, each as far as the best of those before."""
    for best in range(min(passes, len(order) - 1)):
        for position in range(len(order) - 2, best - 1, -1):
            if (yield from pairs.compare(order[position], order[position + 1])) < 0:
                order[position], order[position + 1] = order[position + 1], order[position]
    return order


def _merge_sorted(pairs: _Pairs, order: list[int]) -> Steps[list[int]]:
    """The order sorted by comparisons; equal documents stay as they are."""
    if len(order) < 2:
        return order
    middle = len(order) // 2
    halves = (order[:middle], order[middle:])
    upper, lower = yield from together(_merge_sorted(pairs, half) for half in halves)
    merged: list[int] = []
    first, second = 0, 0
    while first < len(upper) and second < len(lower):
        if (yield from pairs.compare(upper[first], lower[second])) < 0:
            merged.append(lower[second])
            second += 1
        else:
            merged.append(upper[first])
            first += 1
    return [*merged, *upper[first:], *lower[second:]]

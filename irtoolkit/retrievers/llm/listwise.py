"""ListwiseReranker reranking with a sliding window: RankGPT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.models.llm.generator import FILTERED, LENGTH, Completion
from irtoolkit.models.prompts import Template
from irtoolkit.retrievers.llm.permutation import read_order, windows
from irtoolkit.retrievers.llm.reranker import PassageScores, RankedQuery, Reranker, scores_of_order
from irtoolkit.retrievers.llm.rounds import Steps

_PROMPT = """Order passages by how relevant they are to a query.

Query: {query}

{documents}

The query again: {query}
There are {count} passages, each with a number in brackets. Write all {count} numbers, the most \
relevant passage first, in the form [2] > [1] > [3], and nothing else.

Order:"""


@dataclass(frozen=True)
class ListwiseReranker(Reranker):
    """The order that a language model writes for a window of passages, from the end of the list to its top.

    RankGPT (Sun et al. 2023, §3): the answer is a permutation such as "[2] > [1] > [3]". The best
    window - step passages of each window are in the next one, so that a passage can rise to the
    top. Passages that an answer leaves out follow in the order they had; an answer that cannot be
    read leaves the order as it was. A document's score is the number of those from its rank on.

    Attributes:
        window: passages in a prompt.
        step: passages by which the window is moved.
        prompt: what the model is asked, with {query}, {documents} and {count} where they stand, and
            {field} where a field of the query's record does; braces are doubled.
    """

    name: ClassVar[str] = "llm-listwise"
    document_names: ClassVar[tuple[str, ...]] = ("documents",)
    other_names: ClassVar[tuple[str, ...]] = ("count",)

    window: int = 20
    step: int = 10
    prompt: str = _PROMPT

    def missing(self) -> str | None:
        if self.window < 2:
            return f"window={self.window} is not at least 2"
        if not 1 <= self.step < self.window:
            return f"step={self.step} is not between 1 and window - 1, {self.window - 1}"
        return super().missing()

    def needs_order(self) -> bool:
        return True

    def shorter(self) -> str:
        return f"{super().shorter()}, or take a smaller window than window={self.window}"

    def scored(
        self, template: Template, query: RankedQuery, docs: Sequence[str]
    ) -> Steps[PassageScores]:
        order = np.arange(len(docs))
        for window in windows(len(docs), self.window, self.step):
            visible = order[window]
            listed = "\n".join(f"[{i}] {docs[doc]}" for i, doc in enumerate(visible, start=1))
            values = {"documents": listed, "count": str(len(visible))}
            [answer] = yield [template.filled({**query.fields, **values})]
            ranking = read_order(_whole_text(answer), len(visible))
            query.tally.count(answer, ranking.reading)
            order[window] = visible[ranking.places]
        return scores_of_order(order)


def _whole_text(answer: Completion) -> str:
    """Returns what an answer says; a number that is cut off may be the beginning of another."""
    if answer.finish == FILTERED:
        return ""
    return re.sub(r"\d+\s*$", "", answer.text) if answer.finish == LENGTH else answer.text

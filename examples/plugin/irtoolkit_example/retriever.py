"""A retriever: how many letters the texts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.retrievers.base import Block, Retriever, Scorer
from irtoolkit.retrievers.task import Task


@dataclass(frozen=True)
class SharedLetters(Retriever):
    """The number of letters that query and document share, over the length of the document.

    Attributes:
        case: whether capitals differ from small letters.
    """

    name: ClassVar[str] = "shared-letters"

    case: bool = False

    def scorer(self, task: Task) -> Scorer:
        queries = [self._letters(text) for text in task.queries]
        docs = [self._letters(text) for text in task.docs]

        def candidates(chosen: Ints) -> Block:
            def score(asked: Ints) -> np.ndarray:
                return np.array([[_shared(queries[q], docs[d]) for d in chosen] for q in asked])

            return score

        return candidates

    def _letters(self, segments: Iterable[str]) -> Counter[str]:
        text = " ".join(segments)
        return Counter(c for c in (text if self.case else text.lower()) if c.isalpha())


def _shared(query: Counter[str], doc: Counter[str]) -> float:
    return (query & doc).total() / max(1, doc.total())

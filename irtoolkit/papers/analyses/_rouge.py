"""ROUGE-L of a text with each of many, and the best of them without comparing all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

from irtoolkit.base.errors import needs_extra
from irtoolkit.base.ids import Floats, Ints


class Rouge:
    """ROUGE-L F1 by rouge-score, without stemming.

    Raises:
        InputError: rouge-score is not installed.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            from rouge_score.rouge_scorer import RougeScorer
            from rouge_score.tokenizers import DefaultTokenizer
        except ImportError:
            raise needs_extra("rouge-score", "analyse") from None
        self._scorer: Any = RougeScorer(["rougeL"])
        self._split = DefaultTokenizer(use_stemmer=False).tokenize
        self._texts = texts
        self._terms: dict[str, int] = {}
        self._counts, self._sizes = self._counted()

    def _counted(self) -> tuple[Any, Ints]:
        """Returns (N, V) how often each text has each token, and (N,) tokens of each text."""
        rows, columns, counts, sizes = [], [], [], []
        for row, text in enumerate(self._texts):
            counter = Counter(self._split(text))
            sizes.append(sum(counter.values()))
            for term, count in counter.items():
                rows.append(row)
                columns.append(self._terms.setdefault(term, len(self._terms)))
                counts.append(count)
        shape = (len(self._texts), max(1, len(self._terms)))
        return csc_matrix((counts, (rows, columns)), shape=shape), np.array(sizes, dtype=np.int64)

    def of(self, reference: str, text: str) -> float:
        """Returns ROUGE-L F1 of a text."""
        return float(self._scorer.score(reference, text)["rougeL"].fmeasure)

    def best(self, reference: str, leave_out: int) -> tuple[int, float]:
        """Returns the position and the value of the highest ROUGE-L, the first of equals.

        Args:
            reference: the text to compare with.
            leave_out: the position of a text that does not count.
        """
        bounds = self._bounds(reference)
        bounds[leave_out] = -1.0
        best_index, highest = -1, -1.0
        for i in np.argsort(-bounds, kind="stable").tolist():
            # No common subsequence is longer than the tokens in common.
            if bounds[i] < highest - 1e-9 or i == leave_out:
                break
            value = self.of(reference, self._texts[i])
            if value > highest or (value == highest and i < best_index):
                best_index, highest = i, value
        return best_index, highest

    def _bounds(self, reference: str) -> Floats:
        """Returns (N,) an upper bound of ROUGE-L of each text: F1 of the tokens in common."""
        counts = Counter(self._split(reference))
        common = np.zeros(len(self._texts))
        for term, count in counts.items():
            if term in self._terms:
                column = self._counts[:, [self._terms[term]]]
                common[column.indices] += np.minimum(column.data, count)
        return 2 * common / np.maximum(1, self._sizes + sum(counts.values()))

"""Alignment of comments with the passages of their books, by any retriever of one text.

The paper's comments are marked in the text (§4.2, step 1), so that it needs alignment only across
translations. Here it locates comments that are not marked, or only roughly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p, sqrt

import numpy as np

from irtoolkit.base.analysis import ANALYZERS, analyzer, analyzer_for
from irtoolkit.base.ids import Floats, id_array
from irtoolkit.retrievers.base import Ask, Retriever, scores_of
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.retrievers.texts import GivenTexts

# Raised when the same texts are aligned otherwise.
FORMAT = 1


@dataclass(frozen=True)
class Reach:
    """The limits of the search for passages.

    Attributes:
        near: sentences on each side of the place that a comment names.
        longest: sentences of a passage at most.
    """

    near: int = 10
    longest: int = 5


@dataclass(frozen=True)
class Passage:
    """The passage of a comment.

    Attributes:
        start, stop: its sentences, the first and one past the last.
        score: of its best sentence, about 0 to 1.
        margin: the lead over the best sentence elsewhere.
    """

    start: int
    stop: int
    score: float
    margin: float


class BookScores:
    """The sentences of a book, prepared for comparison with comments.

    Args:
        retriever: compares them; see `aligner`.
        sentences: those of the book.
        lang: the language of the book.
    """

    def __init__(self, retriever: Retriever, sentences: Sequence[str], lang: str | None) -> None:
        self._count = len(sentences)
        self._sentences = [(sentence,) for sentence in sentences]
        self._bound = _Bound(sentences, lang) if retriever.name == "bm25" else None
        self._ask: Ask = retriever.on(lang).prepare(self._task([]))

    def of(self, comments: Sequence[str]) -> Floats:
        """Returns (comments, sentences) scores, about 0 to 1, to four decimals."""
        everything = np.arange(self._count)
        block = self._ask(self._task(comments))(everything)
        scores = np.asarray(scores_of(block(np.arange(len(comments)))), np.float64)
        if self._bound is not None:
            scores = scores / np.array([[self._bound(comment)] for comment in comments])
        # Further digits differ from machine to machine.
        return np.round(scores, 4)

    def _task(self, comments: Sequence[str]) -> Task:
        numbers = np.arange(len(comments))
        everything = np.arange(self._count)
        return Task(
            "the comments",
            id_array([str(n) for n in numbers]),
            id_array([str(n) for n in everything]),
            (QueryGroup(numbers, everything),),
            texts=GivenTexts([(text,) for text in comments], self._sentences),
        )


class _Bound:
    """An upper bound of a text's BM25 score: each of its terms counted as often as possible."""

    def __init__(self, sentences: Sequence[str], lang: str | None) -> None:
        self._terms = analyzer(*ANALYZERS[analyzer_for(lang)])
        self._size = len(sentences)
        self._frequency = Counter(term for s in sentences for term in set(self._terms(s)))

    def __call__(self, text: str) -> float:
        matches = [self._frequency[term] for term in self._terms(text)]
        return sum(log1p((self._size - n + 0.5) / (n + 0.5)) for n in matches) or 1.0


def window_of(near: int | None, share: float | None, count: int, reach: Reach) -> tuple[int, int]:
    """Returns the sentences in which the passage of a comment is searched, around any named place.

    Args:
        near: the number of a sentence.
        share: a share of the book; a hundredth of the book on each side counts as near.
        count: sentences of the book.
        reach: the limits of the search.
    """
    if near is None and share is None:
        return 0, count
    far = reach.near
    if near is None and share is not None:
        near, far = min(count - 1, int(share * count)), max(far, count // 100)
    assert near is not None
    return max(0, near - far), min(count, near + far + 1)


def passage_of(scores: Floats, within: tuple[int, int], reach: Reach) -> Passage:
    """Returns the passage of a comment: its best sentence, and neighbours that belong to it.

    A neighbour joins as long as the comment is then more like the passage as a whole: were
    sentences independent, the cosine with the sum of n of them would be the sum of their scores by
    √n. Scores count above the median of the book, which is that of unrelated sentences.

    Args:
        scores: (sentences,) those of the book.
        within: the sentences to search.
        reach: the limits of the passage.
    """
    first, end = within
    best = first + int(np.argmax(scores[first:end]))
    start, stop = best, best + 1
    above = scores - np.median(scores)
    total = above[best]
    while stop - start < reach.longest:
        left = above[start - 1] if start > first else -np.inf
        right = above[stop] if stop < end else -np.inf
        longer = total + max(left, right)
        if longer / sqrt(stop - start + 1) <= total / sqrt(stop - start):
            break
        total = longer
        start, stop = (start - 1, stop) if left > right else (start, stop + 1)
    score = float(scores[best])
    return Passage(start, stop, score, _margin(scores, start, stop, score, within))


def score_of(scores: Floats, start: int, stop: int) -> Passage:
    """Returns a known passage with the score of its best sentence."""
    score = float(scores[start:stop].max())
    return Passage(start, stop, score, _margin(scores, start, stop, score, (0, len(scores))))


def _margin(scores: Floats, start: int, stop: int, score: float, within: tuple[int, int]) -> float:
    # A sentence beside the passage is no other place.
    others = (scores[within[0] : max(within[0], start - 1)], scores[stop + 1 : within[1]])
    best = max((float(part.max()) for part in others if len(part)), default=0.0)
    return round(score - best, 4)


# -- decisions without a reader ---------------------------------------------------------------
#
# Thresholds take the place of the paper's classifier of pairs (§4.2, step 5), which is trained on
# annotated pairs; `quality` reports how they agree with readers.

KEEP, ASK, DROP = DECISIONS = ("keep", "ask", "drop")


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of decisions without a reader.

    Attributes:
        keep: the least score of a pair to keep.
        ask: the least score of a pair to check by a reader.
        plot: the least probability that a kept comment describes a plot.
        doubt: the least probability of one to check by a reader.
        margin: the least margin of a pair to keep.
    """

    keep: float
    ask: float
    plot: float = 0.5
    doubt: float = 0.3
    margin: float = 0.08


# By the retriever: a cosine, and a share of the highest BM25. With all-MiniLM-L6-v2 the margin says more
# than the score: sentences with the names of a comment score high in many places of a book.
USUAL = {"dense": Thresholds(0.5, 0.35), "bm25": Thresholds(0.3, 0.15)}


def decide(passage: Passage, plot: float, exact: bool, bounds: Thresholds) -> str:
    """Returns the decision on a pair.

    Args:
        passage: the passage and its score.
        plot: the probability that the comment describes a plot.
        exact: whether the comment itself gives its passage. Then a low score does not
            speak against it: the less alike two such texts are, the more abstract is their association.
        bounds: the thresholds.
    """
    if plot < bounds.doubt:
        return DROP
    if exact:
        return KEEP if plot >= bounds.plot else ASK
    if passage.score < bounds.ask:
        return DROP
    sure = passage.score >= bounds.keep and passage.margin >= bounds.margin and plot >= bounds.plot
    return KEEP if sure else ASK

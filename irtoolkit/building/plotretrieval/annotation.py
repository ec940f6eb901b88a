"""Decisions without a reader: pairs to keep, to check, and to drop.

In the place of the paper's classifier of pairs (§4.2, step 5), which is trained on annotated pairs,
there are thresholds; `quality` reports how they agree with readers.
"""

from __future__ import annotations

from dataclasses import dataclass

from irtoolkit.building.plotretrieval.alignment import Passage

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

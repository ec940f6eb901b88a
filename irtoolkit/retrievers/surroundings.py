"""Term matching of passages of books together with the sentences around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, hstack

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._book_windows import (
    BookWindows,
    Surrounded,
    all_windows,
    book_windows,
    incidence,
)
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._terms import SharedTerms, Vocabulary, widen
from irtoolkit.retrievers.base import Ask, Block, Matches, ScoreMatrix, Scorer
from irtoolkit.retrievers.lexical import BM25, Lexical, QueryLikelihood, Statistics
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import BLOCK_DOCS


@dataclass(frozen=True)
class LexicalSurroundings(Surrounded, Lexical):
    """What term-matching retrievers of passages with their surroundings share.

    Sentences are counted once; the counts of a window are the sums of its sentences' counts.
    Windows of each size are weighed by statistics of their own.

    Attributes:
        statistics: whose frequencies and average length weigh the terms: those of windows around
            the query's candidates, or around all passages of the corpus.
    """

    statistics: Statistics = "candidates"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_surroundings()

    def prepare(self, task: Task) -> Ask:
        vocabulary = Vocabulary(analyzer(*self.analysis(task.lang)))
        score = self._scored(task, vocabulary)
        return lambda other: score(self._asked(other, vocabulary))

    def scorer(self, task: Task) -> Scorer:
        vocabulary = Vocabulary(analyzer(*self.analysis(task.lang)))
        # Before the documents, as in all term matching: the order of the terms decides the last bit.
        asked = self._asked(task, vocabulary)
        return self._scored(task, vocabulary)(asked)

    def _scored(self, task: Task, vocabulary: Vocabulary) -> Callable[[Any], Scorer]:
        """Counts the sentences, and returns what scores (Q, terms) counts of queries."""
        windows = book_windows(task)
        everything = all_windows(task) if self.statistics == "corpus" else None
        sentences = vocabulary.count((text,) for text in windows.sentences)

        def score_all(asked: Any) -> Scorer:
            asked = widen(asked, len(vocabulary))
            counted = _Counted(widen(sentences, len(vocabulary)))
            terms = _terms(asked) if self.only_asked() else np.arange(asked.shape[1])
            fixed: dict[int, Collection] = {}
            if everything is not None:
                fixed = {
                    size: counted.collection(everything, size, terms) for size, _ in self.shares()
                }

            def candidates(docs: Ints) -> Block:
                def score(query: Ints) -> Matches:
                    rows = asked[query]
                    # Terms that these queries do not have need no weights; they only add to lengths.
                    these = _terms(rows) if self.only_asked() and not fixed else terms
                    found: ScoreMatrix = np.zeros((len(query), len(docs)))
                    questions = widen(rows[:, these], len(these) + 1)
                    shared: list[SharedTerms] = []
                    for size, share in self.shares():
                        counts = counted.of(*windows.ranges(docs, size), these)
                        match = self.matcher(counts, fixed.get(size) or Collection.of(counts))
                        found += share * match(questions)
                        shared.append(SharedTerms(counts))
                    return Matches(
                        found, lambda: np.any([own(questions) for own in shared], axis=0)
                    )

                return score

            return candidates

        return score_all

    def only_asked(self) -> bool:
        """Whether terms that no query has decide scores by their number alone."""
        return True

    def _asked(self, task: Task, vocabulary: Vocabulary) -> Any:
        """(Q, terms) counts of the queries' terms, weighted by the nearness of their sentences."""
        if not self.fades(task):
            return vocabulary.count(task.queries)
        texts, weights = self.query_sentences(task)
        return csr_array(weights @ vocabulary.count((text,) for text in texts))


@dataclass(frozen=True)
class BM25Surroundings(LexicalSurroundings, BM25):
    """BM25 of passages of books, interpolated with BM25 of windows around them."""

    name: ClassVar[str] = "bm25-surroundings"

    def only_asked(self) -> bool:
        # Okapi's negative weights become a share of the mean over all terms.
        return self.form != "okapi"


@dataclass(frozen=True)
class LikelihoodSurroundings(LexicalSurroundings, QueryLikelihood):
    """Query likelihood of passages of books, interpolated with that of windows around them."""

    name: ClassVar[str] = "ql-surroundings"


def _terms(counts: Any) -> Ints:
    """The terms that occur in some texts, ascending."""
    return np.unique(counts.indices)


class _Counted:
    """Counts of terms in sentences, from which those in windows are made.

    Args:
        sentences: (sentences, terms) counts.
    """

    def __init__(self, sentences: Any) -> None:
        self._sentences = sentences
        self._lengths = np.asarray(sentences.sum(axis=1)).ravel()

    def of(self, first: Ints, last: Ints, terms: Ints) -> Any:
        """(windows, terms + 1) counts of some terms, and in the last column of all others."""
        base, stop = int(first.min()), int(last.max())
        here = self._sentences[base:stop][:, terms]
        others = self._lengths[base:stop] - np.asarray(here.sum(axis=1)).ravel()
        parts = hstack([here, csr_array(others[:, None])], format="csr")
        return csr_array(incidence(first, last, base, stop - base) @ parts)

    def collection(self, windows: BookWindows, size: int, terms: Ints) -> Collection:
        """The statistics of the windows of one size around some passages."""
        total = Collection(0, np.zeros(1, np.int64), np.zeros(1))
        for start in range(0, len(windows.begins), BLOCK_DOCS):
            docs = np.arange(start, min(start + BLOCK_DOCS, len(windows.begins)))
            total += Collection.of(self.of(*windows.ranges(docs, size), terms))
        return total

"""Term-matching retrievers as sparse linear algebra over the candidate set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.analysis import Analyzer, StopWords, Tokenizer, analyzer
from irtoolkit.ids import Ints
from irtoolkit.retrievers.base import Retriever, Scorer, Scores
from irtoolkit.retrievers.task import Segments, Task

Floats = NDArray[np.float64]
Statistics = Literal["candidates", "corpus"]


class Vocabulary:
    """Term numbers, given out as terms appear, and count matrices over them."""

    def __init__(self, analyze: Analyzer) -> None:
        self._analyze = analyze
        self._index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._index)

    def items(self) -> Iterable[tuple[str, int]]:
        """Terms with their numbers."""
        return self._index.items()

    def count(self, texts: Iterable[Segments], *, grow: bool) -> Any:
        """A (texts, terms) CSR matrix of term counts.

        Segments are joined by a space. With `grow`, new terms enter the vocabulary; without,
        they are dropped.
        """
        from scipy.sparse import csr_array

        index, starts, terms = self._index, [0], list[int]()
        for segments in texts:
            for term in self._analyze(" ".join(segments)):
                number = index.setdefault(term, len(index)) if grow else index.get(term, -1)
                if number >= 0:
                    terms.append(number)
            starts.append(len(terms))
        data = np.ones(len(terms), dtype=np.float64)
        matrix = csr_array((data, terms, starts), shape=(len(starts) - 1, max(1, len(index))))
        matrix.sum_duplicates()
        return matrix


def _widen(matrix: Any, width: int) -> Any:
    matrix.resize((matrix.shape[0], max(1, width)))
    return matrix


@dataclass(frozen=True)
class _Lexical(Retriever):
    """Parameters that all term-matching retrievers share."""

    statistics: Statistics = "corpus"
    tokenizer: Tokenizer = "word"
    stop: StopWords = "sklearn"

    def reads_corpus(self) -> bool:
        return self.statistics == "corpus"

    def _counts(self, task: Task) -> tuple[Any, Any, Any | None]:
        """Count matrices of queries, candidates and, when its statistics are wanted, corpus."""
        vocabulary = Vocabulary(analyzer(self.tokenizer, self.stop))
        docs = vocabulary.count(task.docs, grow=True)
        corpus = vocabulary.count(task.corpus(), grow=True) if self.statistics == "corpus" else None
        queries = vocabulary.count(task.queries, grow=False)
        width = len(vocabulary)
        return (
            _widen(queries, width),
            _widen(docs, width),
            None if corpus is None else _widen(corpus, width),
        )


def document_frequencies(counts: Any) -> Ints:
    """(terms,) number of rows in which each term occurs."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


@dataclass(frozen=True)
class BM25(_Lexical):
    """BM25 in one of its published forms.

    form "okapi": rank_bm25's BM25Okapi. idf = ln((N - n + ½)/(n + ½)), and where that is negative
    `epsilon` times the mean idf of the vocabulary; term weight tf·(k1+1)/(tf + k1·(1 - b + b·dl/avgdl)).
    Defaults k1 1.5, b 0.75, epsilon 0.25.

    form "lucene": Lucene 8 and later. idf = ln(1 + (N - n + ½)/(n + ½)); term weight
    tf/(tf + k1·(1 - b + b·dl/avgdl)), with exact lengths where Lucene keeps one byte.
    Defaults k1 0.9, b 0.4 (Anserini's).

    A query term counts as often as it is repeated. `statistics` says where N, n and avgdl come
    from: each query's candidates, or the whole corpus.
    """

    name: ClassVar[str] = "bm25"

    form: Literal["okapi", "lucene"] = "lucene"
    k1: float | None = None
    b: float | None = None
    epsilon: float = 0.25

    def scorer(self, task: Task) -> Scorer:
        queries, docs, corpus = self._counts(task)
        fixed = None if corpus is None else self._collection(corpus)

        def score(query: Ints, doc: Ints) -> Scores:
            counts = docs[doc]
            idf, average = fixed or self._collection(counts)
            weighted = self._weights(counts, average)
            asked = queries[query]
            asked.data = asked.data * idf[asked.indices]
            dense: Scores = (asked @ weighted.T).toarray()
            return dense

        return score

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), **dict(zip(("k1", "b"), self._k1_b(), strict=True))}

    def _k1_b(self) -> tuple[float, float]:
        k1, b = (1.5, 0.75) if self.form == "okapi" else (0.9, 0.4)
        return (k1 if self.k1 is None else self.k1), (b if self.b is None else self.b)

    def _collection(self, counts: Any) -> tuple[Floats, float]:
        """Inverse document frequency of each term, and the mean document length."""
        size, found = counts.shape[0], document_frequencies(counts)
        if self.form == "lucene":
            idf = np.log1p((size - found + 0.5) / (found + 0.5))
        else:
            idf = np.log(size - found + 0.5) - np.log(found + 0.5)
            known = idf[found > 0]
            idf[idf < 0] = self.epsilon * (known.mean() if len(known) else 0.0)
            idf[found == 0] = 0.0
        return idf, float(counts.sum() / size) if size else 0.0

    def _weights(self, counts: Any, average: float) -> Any:
        """The (docs, terms) matrix of saturated, length-normalised term frequencies."""
        okapi = self.form == "okapi"
        k1, b = self._k1_b()
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        norm = k1 * (1 - b + b * lengths / (average or 1.0))
        weights = counts.copy()
        scale = k1 + 1 if okapi else 1.0
        weights.data = counts.data * scale / (counts.data + np.repeat(norm, np.diff(counts.indptr)))
        return weights


@dataclass(frozen=True)
class TFIDF(_Lexical):
    """Cosine of TF-IDF vectors, as scikit-learn weights them: tf · (ln((1+N)/(1+n)) + 1).

    Unit vectors order alike by cosine, by dot product and by L2 distance. With `smooth` off the
    ones beside N and n are left out.
    """

    name: ClassVar[str] = "tfidf"

    smooth: bool = True

    def scorer(self, task: Task) -> Scorer:
        from sklearn.preprocessing import normalize

        queries, docs, corpus = self._counts(task)
        fixed = None if corpus is None else self._idf(corpus)

        def vectors(counts: Any, idf: Floats) -> Any:
            weighted = counts.copy()
            weighted.data = counts.data * idf[counts.indices]
            return normalize(weighted)

        def score(query: Ints, doc: Ints) -> Scores:
            candidates = docs[doc]
            idf = self._idf(candidates) if fixed is None else fixed
            dense: Scores = (vectors(queries[query], idf) @ vectors(candidates, idf).T).toarray()
            return dense

        return score

    def _idf(self, counts: Any) -> Floats:
        """Inverse document frequency of each term; 0 for one that no document has."""
        extra, found = int(self.smooth), document_frequencies(counts)
        idf = np.log((counts.shape[0] + extra) / np.maximum(found + extra, 1)) + 1
        return np.where(found > 0, idf, 0.0)

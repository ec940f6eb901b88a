"""Pseudo-relevance feedback with terms: RM3 and Rocchio's method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, sqrt
from typing import ClassVar, Literal

from irtoolkit.retrievers._feedback import Feedback, FeedbackDocument, TermWeights, heaviest
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.query_likelihood import QueryLikelihood

_COMMON = {"fb_docs": (1, 1e6), "fb_terms": (1, 1e6), "max_df": (0, 1)}
_MODEL = {**_COMMON, "original_query_weight": (0, 1), "doc_terms": (1, 1e9)}
_ROCCHIO = {
    **_COMMON,
    "alpha": (0, 1e6),
    "beta": (0, 1e6),
    "gamma": (0, 1e6),
    "bottom_fb_docs": (1, 1e6),
    "bottom_fb_terms": (1, 1e6),
    "hits": (1, 1e6),
}


@dataclass(frozen=True)
class RelevanceModel(Feedback):
    """RM3 over some first search.

    Attributes:
        original_query_weight: weight of the query; 1 is the ranking without feedback.
        doc_terms: terms of a feedback document that take part, its most frequent; by default
            `fb_terms`, as in Anserini.
    """

    original_query_weight: float = 0.5
    doc_terms: int | None = None

    @property
    def is_off(self) -> bool:
        return self.original_query_weight == 1

    def weights(self, counts: Mapping[str, int]) -> TermWeights:
        chosen = heaviest(counts, self.doc_terms or self.fb_terms)
        total = sum(chosen.values())
        return {term: count / total for term, count in chosen.items()}

    @abstractmethod
    def shares(self, scores: Sequence[float], length: float) -> list[float]:
        """The weight of each feedback document, up to a factor; `length` is the query's, in terms."""

    def expand(self, query: TermWeights, ranking: Sequence[FeedbackDocument]) -> TermWeights:
        weights: dict[str, float] = {}
        length = sum(query.values())
        shares = self.shares([doc.score for doc in ranking], length)
        for share, doc in zip(shares, ranking, strict=True):
            for term, weight in doc.weights.items():
                weights[term] = weights.get(term, 0.0) + share * weight
        model = heaviest(weights, self.fb_terms)
        total = fsum(model.values())
        if total <= 0:
            return query
        return _positive(
            {
                term: self.original_query_weight * query.get(term, 0)
                + (1 - self.original_query_weight) * length * model.get(term, 0.0) / total
                for term in sorted({*query, *model})
            }
        )


@dataclass(frozen=True)
class RM3(RelevanceModel, BM25):
    """BM25 with queries expanded by RM3 (Abdul-Jaleel et al. 2004), as in Anserini.

    The relevance model is P(w|R) = sum over the feedback documents D of P(w|D) · s(D), the first of
    Lavrenko and Croft 2001, with P(w|D) = tf/length over the terms that take part, and s(D) the score
    of the document. Its `fb_terms` greatest terms, whose weights sum to 1, are mixed with the query:
    λ · P(w|Q) + (1 - λ) · P(w|R). All weights are multiplied by the length of the query, so that
    scores are on the scale of `bm25`. A document that scores no more than one without a term of the
    query gives no feedback.
    """

    name: ClassVar[str] = "rm3"
    ranges: ClassVar = {**BM25.ranges, **_MODEL}

    def shares(self, scores: Sequence[float], length: float) -> list[float]:
        return [max(0.0, score) for score in scores]


@dataclass(frozen=True)
class RM3QueryLikelihood(RelevanceModel, QueryLikelihood):
    """Query likelihood with queries expanded by RM3.

    As `rm3`, but s(D) is the probability that the feedback document gives the query. Documents that
    share a term with the query give feedback.

    Attributes:
        likelihood: of what s(D) is the probability: of a "term" of the query, in the geometric mean,
            as Indri scores; or of the whole "query" (Lavrenko and Croft 2001), which lets the first
            document decide where queries are long.
    """

    name: ClassVar[str] = "rm3-ql"
    # 2: documents that share no term with the query give no feedback.
    format: ClassVar[int] = 2
    ranges: ClassVar = {**QueryLikelihood.ranges, **_MODEL}

    likelihood: Literal["term", "query"] = "term"

    def shares(self, scores: Sequence[float], length: float) -> list[float]:
        terms = max(length, 1.0) if self.likelihood == "term" else 1.0
        return [exp((score - max(scores)) / terms) for score in scores]


@dataclass(frozen=True)
class Rocchio(Feedback, BM25):
    """BM25 with queries expanded by Rocchio's method (1971), as in Anserini.

    The new query is α·q + β·r - γ·n, of which negative weights are left out: q are the frequencies of
    the query's terms, r is the mean of the vectors of the feedback documents, and n that of the last
    documents of the first search. A vector has the frequencies of the terms that take part, scaled to
    length 1; means keep their greatest terms, and q, r and n are scaled to length 1 too. All weights
    are then multiplied by the length of q, so that scores are on the scale of `bm25`. A document
    that scores no more than one without a term of the query gives no feedback.

    Attributes:
        alpha: weight of the query.
        beta: weight of the feedback documents; 0 for both this and `gamma` is the ranking without
            feedback.
        gamma: weight of the documents that are taken as not relevant.
        bottom_fb_docs: how many these are, the last of the first search; none is among `fb_docs`.
        bottom_fb_terms: terms of theirs that count, at most.
        hits: documents that the first search finds for `gamma`, at most.
    """

    name: ClassVar[str] = "rocchio"
    read_with: ClassVar = {
        "bottom_fb_docs": ("gamma",),
        "bottom_fb_terms": ("gamma",),
        "hits": ("gamma",),
    }
    ranges: ClassVar = {**BM25.ranges, **_ROCCHIO}
    english: ClassVar[Literal["latin", "length"]] = "length"

    alpha: float = 1.0
    beta: float = 0.75
    gamma: float = 0.0
    bottom_fb_docs: int = 10
    bottom_fb_terms: int = 10
    hits: int = 1000

    @property
    def is_off(self) -> bool:
        return self.beta == self.gamma == 0

    @property
    def ranked(self) -> int:
        return max(self.hits, self.fb_docs) if self.gamma else self.fb_docs

    def read(self, count: int) -> list[int]:
        last = range(max(self.fb_docs, count - self.bottom_fb_docs), count) if self.gamma else ()
        return [*super().read(count), *last]

    def weights(self, counts: Mapping[str, int]) -> TermWeights:
        return _unit(counts)

    def expand(self, query: TermWeights, ranking: Sequence[FeedbackDocument]) -> TermWeights:
        good, rest = ranking[: self.fb_docs], ranking[self.fb_docs :]
        near = _mean(good, self.fb_terms)
        far = _mean(rest, self.bottom_fb_terms)
        if not near and not far:
            return query
        length = sqrt(sum(count * count for count in query.values()))
        return _positive(
            {
                term: self.alpha * query.get(term, 0)
                + length * (self.beta * near.get(term, 0.0) - self.gamma * far.get(term, 0.0))
                for term in sorted({*query, *near, *far})
            }
        )


def _mean(docs: Sequence[FeedbackDocument], count: int) -> TermWeights:
    """The mean of vectors, cut to its greatest terms, and scaled to length 1."""
    total: dict[str, float] = {}
    for doc in docs:
        for term, weight in doc.weights.items():
            total[term] = total.get(term, 0.0) + weight
    return _unit(heaviest(total, count))


def _unit(weights: TermWeights) -> TermWeights:
    """Weights scaled to length 1."""
    length = sqrt(fsum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}


def _positive(weights: TermWeights) -> TermWeights:
    return {term: weight for term, weight in weights.items() if weight > 0}

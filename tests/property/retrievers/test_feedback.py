"""RM3 and Rocchio's method beside their definitions in plain Python, in memory and over kept shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import irtoolkit as ir
from irtoolkit.base.analysis import Analysis
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.index_format import IndexFormat, OpenShard
from irtoolkit.retrievers._feedback import FeedbackDocument
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.feedback import RM3, RM3QueryLikelihood, Rocchio
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.task import load_task
from tests.datasets import register

Rows = list[tuple[str, float]]
HOW = Analysis("whitespace", "none", "none")._asdict()
SOME = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = ("rm3", "rm3-bm25+", "rm3-ql", "rm3-jm", "rocchio", "rocchio-gamma")


def first_search(name: str) -> Any:
    if name in ("rm3-ql", "rm3-jm"):
        smoothing: Any = "dirichlet" if name == "rm3-ql" else "jm"
        return QueryLikelihood(smoothing=smoothing, mu=7.0, lam=0.3, **HOW)  # type: ignore[arg-type]
    form: Any = "bm25+" if name == "rm3-bm25+" else "lucene"
    return BM25(form=form, **HOW)  # type: ignore[arg-type]


def retriever(name: str, **chosen: Any) -> Any:
    cls = {"rocchio": Rocchio, "rm3": RM3}.get(name.partition("-")[0])
    if name in ("rm3-ql", "rm3-jm"):
        cls = RM3QueryLikelihood
    if name == "rocchio-gamma":
        chosen = {"gamma": 0.4, "bottom_fb_docs": 3, "bottom_fb_terms": 4, "hits": 12} | chosen
    return cls(**{**vars(first_search(name)), **chosen})  # type: ignore[misc]


class Definition:
    """What a retriever with feedback is defined to do, given the ranking of the first search."""

    def __init__(self, made: Any, texts: Mapping[str, str]) -> None:
        self.made = made
        self.texts = {name: Counter(text.split()) for name, text in texts.items()}
        self.size = len(texts)
        self.found = Counter(term for count in self.texts.values() for term in count)
        self.occurrences = sum(self.texts.values(), Counter())
        self.total = self.occurrences.total()

    def document(self, name: str) -> Counter[str]:
        common = max(self.made.max_df * self.size, self.made.fb_docs)
        return Counter({
            term: count for term, count in self.texts[name].items()
            if 2 <= len(term) <= 20 and self.found[term] <= common
        })  # fmt: skip

    def best(self, weights: Mapping[str, float], count: int) -> dict[str, float]:
        order = sorted(weights, key=lambda term: (-np.float32(weights[term]), term))
        return {term: weights[term] for term in order[:count]}

    def query(self, text: str, first: Rows) -> dict[str, float]:
        asked = Counter(text.split())
        if isinstance(self.made, Rocchio):
            return self.rocchio(asked, [name for name, _ in first])
        return self.rm3(asked, first[: self.made.fb_docs])

    def rm3(self, asked: Counter[str], first: Rows) -> dict[str, float]:
        made, model = self.made, Counter[str]()
        best = max((score for _, score in first), default=0.0)
        for name, score in first:
            terms = self.best(self.document(name), made.doc_terms or made.fb_terms)
            if isinstance(made, RM3QueryLikelihood):
                scale = max(1, asked.total()) if made.likelihood == "term" else 1
                score = exp((score - best) / scale)
            for term, count in terms.items():
                model[term] += score * count / sum(terms.values())  # type: ignore[assignment]
        kept = self.best(model, made.fb_terms)
        if not sum(kept.values()):
            return dict(asked)
        mixed, own = {}, made.original_query_weight
        for term in {*asked, *kept}:
            mixed[term] = own * asked[term] / max(1, asked.total())
            mixed[term] += (1 - own) * kept.get(term, 0) / sum(kept.values())
            mixed[term] *= asked.total()
        return mixed

    def rocchio(self, asked: Counter[str], first: list[str]) -> dict[str, float]:
        made = self.made
        good = first[: made.fb_docs]
        bad = first[: max(made.hits, made.fb_docs)][made.fb_docs :][-made.bottom_fb_docs :]
        near = self.mean(good, made.fb_terms)
        far = self.mean(bad, made.bottom_fb_terms) if made.gamma else {}
        if not near and not far:
            return dict(asked)
        norm = sqrt(sum(n * n for n in asked.values()))
        every = {}
        for term in {*asked, *near, *far}:
            weight = made.alpha * asked[term] / norm if norm else 0.0
            weight += made.beta * near.get(term, 0) - made.gamma * far.get(term, 0)
            every[term] = max(0.0, weight) * norm
        return every

    def mean(self, names: list[str], count: int) -> dict[str, float]:
        total: dict[str, float] = {}
        for name in names:
            own = self.document(name)
            norm = sqrt(sum(n * n for n in own.values()))
            for term, n in own.items():
                total[term] = total.get(term, 0) + n / norm
        kept = self.best(total, count)
        norm = sqrt(sum(w * w for w in kept.values()))
        return {term: weight / norm for term, weight in kept.items()}

    def score(self, query: Mapping[str, float], name: str) -> float:
        doc = self.texts[name]
        return sum(w * self.term(t, doc) for t, w in query.items() if self.found[t])

    def term(self, term: str, doc: Counter[str]) -> float:
        made, tf, length = self.made, doc[term], doc.total()
        if isinstance(made, QueryLikelihood):
            chance = self.occurrences[term] / self.total
            if made.smoothing == "dirichlet":
                return log((tf + made.mu * chance) / (length + made.mu))
            share = tf / length if length else 0.0
            return log((1 - made.lam) * share + made.lam * chance)
        n, average = self.found[term], self.total / self.size
        if made.form == "bm25+":
            norm = 1.5 * (0.25 + 0.75 * length / average)
            return log((self.size + 1) / n) * (1 + tf * 2.5 / (tf + norm))
        norm = 0.9 * (0.6 + 0.4 * length / average)
        return log(1 + (self.size - n + 0.5) / (n + 0.5)) * tf / (tf + norm)

    def matches(self, text: str, name: str) -> bool:
        """Whether a document gives feedback: it shares a term with the query."""
        return any(self.texts[name][term] for term in text.split())


@st.composite
def collections(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    size, vocabulary = int(rng.integers(1, 50)), int(rng.integers(2, 40))
    words = ["a", "x" * 21, *(f"t{n}" for n in range(vocabulary))]
    chances = 1 / np.arange(1, len(words) + 1)
    chances /= chances.sum()

    def text(longest: int) -> str:
        return " ".join(rng.choice(words, rng.integers(0, longest), p=chances))

    docs = {f"d{n}": text(25) for n in rng.permutation(size * 3)[:size].tolist()}
    assume(any(docs.values()))
    queries = {f"q{n}": f"{text(8)} t0 unheard" for n in range(3)}
    return docs, queries


CHOSEN = st.fixed_dictionaries({
    "fb_docs": st.sampled_from([1, 2, 10]), "fb_terms": st.sampled_from([1, 3, 10]),
    "max_df": st.sampled_from([0.0, 0.1, 0.5, 1.0]),
})  # fmt: skip


def rows_of(found: Any, names: list[str]) -> list[Rows]:
    every = [(names[doc], float(s)) for doc, s in zip(found.documents, found.scores, strict=True)]
    bounds = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    return [every[first:last] for first, last in bounds]


@SOME
@given(
    case=collections(), chosen=CHOSEN, name=st.sampled_from(NAMES),
    own=st.sampled_from([0.0, 0.5, 0.9]), shards=st.sampled_from([1, 3]),
)  # fmt: skip
def test_kept_shards_score_as_defined(
    case: Any, chosen: dict[str, Any], name: str, own: float, shards: int
) -> None:
    docs, queries = case
    made = retriever(name, **chosen)
    if hasattr(made, "original_query_weight"):
        made = replace(made, original_query_weight=own, doc_terms=None if own else 50)
    expected, asked = Definition(made, docs), [(text,) for text in queries.values()]
    with TemporaryDirectory() as folder:
        opened, names = in_shards(made.index_format(), docs, Path(folder), shards)
        first = first_search(name).index_format().open(opened).search(asked, len(docs), fill=True)
        found = made.index_format().open(opened).search(asked, len(docs), fill=True)
        ranks = made.index_format().open(opened).ranks(asked, [range(len(docs))] * len(asked))
        for text, best, rows, own_ranks in zip(
            queries.values(), rows_of(first, names), rows_of(found, names), ranks, strict=True
        ):
            best = [row for row in best if expected.matches(text, row[0])]
            query = expected.query(text, best)
            scores = {doc: expected.score(query, doc) for doc in docs}
            assert dict(rows) == pytest.approx(scores, rel=1e-8, abs=1e-8)
            assert rows == sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)
            assert [names[place] for place in np.argsort(own_ranks)] == [doc for doc, _ in rows]


def in_shards(
    form: IndexFormat, docs: Mapping[str, str], folder: Path, count: int
) -> tuple[list[OpenShard], list[str]]:
    maker, opened, names = form.maker(1 << 30), [], []
    for number in range(count):
        own = [name for at, name in enumerate(docs) if at % count == number]
        place = folder / str(number)
        place.mkdir()
        columns = DocumentsWriter(place, texts=False)
        columns.add(own, [])
        columns.close()
        maker.begin(place)
        maker.add([(docs[doc],) for doc in own])
        maker.end()
        opened.append(OpenShard(Documents(place), np.empty(0, np.int64)))
        names += own
    return opened, names


@SOME
@given(case=collections(), chosen=CHOSEN, name=st.sampled_from(NAMES), pooled=st.booleans())
def test_candidates_score_as_defined(
    case: Any, chosen: dict[str, Any], name: str, pooled: bool
) -> None:
    docs, queries = case
    # Pools whose statistics are their own, and the whole corpus.
    pools = {query: list(docs)[at::2] or list(docs) for at, query in enumerate(queries)}
    made = retriever(name, **{**chosen, "statistics": "candidates"})
    task = load_task(register(docs, queries, pools=pools if pooled else None))
    first = rank(task, replace(first_search(name), statistics="candidates"), progress=False)
    run = rank(task, made, progress=False)
    for query, text in queries.items():
        own = {doc: docs[doc] for doc in (pools[query] if pooled else docs)}
        if not any(own.values()):
            continue
        expected = Definition(made, own)
        best = [(row.doc_id, row.score) for row in first.ranking(query)]
        best = [row for row in best if expected.matches(text, row[0])]
        weights = expected.query(text, best)
        found = {row.doc_id: row.score for row in run.ranking(query)}
        scores = {doc: expected.score(weights, doc) for doc in own}
        # Runs hold single precision.
        assert found == pytest.approx(scores, rel=1e-4, abs=1e-4)


@SOME
@given(case=collections(), name=st.sampled_from(NAMES), pooled=st.booleans())
def test_without_weight_the_ranking_is_that_of_the_first_search(
    case: Any, name: str, pooled: bool
) -> None:
    docs, queries = case
    pools = {query: list(docs)[at::2] or list(docs) for at, query in enumerate(queries)}
    off: dict[str, Any] = {"original_query_weight": 1.0}
    if name.startswith("rocchio"):
        off = {"beta": 0.0, "gamma": 0.0}
    task = load_task(register(docs, queries, pools=pools if pooled else None))
    first = rank(task, first_search(name), progress=False)
    run = rank(task, retriever(name, **off), progress=False)
    assert np.array_equal(run.scores, first.scores)
    assert np.array_equal(run.docs, first.docs)
    # Nearly all of the weight gives nearly the same scores: the scale is that of the first search.
    if name.startswith("rm3"):
        near = rank(task, retriever(name, original_query_weight=1 - 1e-9), progress=False)
        ours = {(q, row.doc_id): row.score for q in queries for row in near.ranking(q)}
        theirs = {(q, row.doc_id): row.score for q in queries for row in first.ranking(q)}
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-4)


# -- Anserini's formulas ----------------------------------------------------------------------


def pruned(weights: dict[str, float], size: int) -> dict[str, float]:
    """As Anserini's `pruneToSize`, whose order of ties is that of a hash table."""
    values = sorted(weights.values(), reverse=True)
    assume(len(values) <= size or values[size - 1] - values[size] > 1e-6)
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:size])


def scaled(weights: dict[str, float], power: int) -> dict[str, float]:
    norm = sum(abs(weight) ** power for weight in weights.values()) ** (1 / power)
    return {term: weight / norm for term, weight in weights.items()} if norm else weights


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    query=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5),
    docs=st.lists(
        st.tuples(
            st.floats(0.1, 30),
            st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 40), min_size=1),
        ),
        min_size=1, max_size=5,
    ),
    terms=st.integers(1, 8), own=st.floats(0, 0.95),
)  # fmt: skip
def test_queries_are_those_of_anserini_up_to_a_factor(
    query: list[str], docs: list[tuple[float, dict[str, int]]], terms: int, own: float
) -> None:
    """Its Rm3Reranker and RocchioReranker, given the same documents and terms that are taken."""
    asked: dict[str, float] = dict(Counter(query))
    vectors = [scaled(pruned(dict(doc), terms), 1) for _, doc in docs]
    every = {t for vector in vectors for t in vector}
    model = {
        t: sum(s * v.get(t, 0) for (s, _), v in zip(docs, vectors, strict=True)) for t in every
    }
    model, flat = scaled(pruned(model, terms), 1), scaled(asked, 1)
    mixed = {t: own * flat.get(t, 0) + (1 - own) * model.get(t, 0) for t in {*flat, *model}}
    rm3 = RM3(fb_terms=terms, original_query_weight=own)
    ranking = [FeedbackDocument(score, rm3.weights(doc)) for score, doc in docs]
    same(rm3.expand(asked, ranking), mixed)

    vectors = [scaled(dict(doc), 2) for _, doc in docs]
    mean = {t: sum(v.get(t, 0) for v in vectors) / len(docs) for v in vectors for t in v}
    mean, flat = scaled(pruned(mean, terms), 2), scaled(asked, 2)
    mixed = {t: own * flat.get(t, 0) + 0.75 * mean.get(t, 0) for t in {*flat, *mean}}
    rocchio = Rocchio(fb_terms=terms, alpha=own)
    ranking = [FeedbackDocument(score, rocchio.weights(doc)) for score, doc in docs]
    same(rocchio.expand(asked, ranking), mixed)


def same(ours: Mapping[str, float], theirs: dict[str, float]) -> None:
    theirs = {term: weight for term, weight in theirs.items() if weight > 0}
    ours = {term: weight for term, weight in ours.items() if weight > 1e-300}
    assert scaled(dict(ours), 1) == pytest.approx(scaled(theirs, 1), rel=1e-6, abs=1e-12)


def test_an_index_finds_what_a_ranking_does() -> None:
    rng = np.random.default_rng(5)
    words = [f"w{n}" for n in range(60)]
    docs = {f"d{n}": " ".join(rng.choice(words, 12)) for n in range(150)}
    queries = {f"q{n}": " ".join(rng.choice(words, 3)) for n in range(5)}
    data = ir.load(docs, queries=queries)
    for name in ("rm3", "rm3-ql", "rocchio"):
        run, index = ir.retrieve(data, name), ir.index(docs, name)
        for query, text in queries.items():
            best = [(row.doc_id, row.score) for row in run.ranking(query)][:20]
            hits = index.search(text, k=20)
            assert [hit.doc_id for hit in hits] == [doc for doc, _ in best]
            assert [hit.score for hit in hits] == pytest.approx([s for _, s in best], rel=1e-5)

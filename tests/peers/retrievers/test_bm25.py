"""The forms of BM25 and query likelihood: against rank_bm25, bm25s, plain sums, and Lucene itself."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import ir_datasets
import numpy as np
import pytest
import rank_bm25
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ir_datasets.formats import (
    TrecQrel,
)

import irtoolkit as ir
from irtoolkit.retrievers.base import Retriever, scores_of
from irtoolkit.retrievers.bm25_forms import FORMS, stored_lengths
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.lucene import java as _java
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Qrels
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from tests.datasets import register
from tests.lucene import with_java

Texts = dict[str, str]
Tokens = list[list[str]]

FORM_NAMES = tuple(FORMS)
# The analysis that Anserini has for English, and its settings of BM25.
ENGLISH: dict[str, Any] = {"tokenizer": "standard", "stop": "lucene", "stem": "porter"}


def matrix(dataset_id: str, retriever: Retriever, **views: Any) -> dict[str, Any]:
    """Query id to the scores of its candidates in their order, as they are computed."""
    task = load_task(dataset_id, **views)
    scorer = retriever.scorer(task)
    found = {}
    for group in task.groups:
        rows = scores_of(scorer(group.docs)(group.queries))
        found.update(zip(task.query_ids[group.queries].tolist(), rows, strict=True))
    return found


def on_words(texts: Tokens, query: Sequence[str], retriever: Retriever) -> Any:
    """The scores of all texts for one query; both are words already."""
    docs = {f"d{i}": " ".join(words) for i, words in enumerate(texts)}
    return matrix(register(docs, {"q": " ".join(query)}), retriever)["q"]


def plain(form: str, **settings: Any) -> BM25:
    return BM25(form=form, tokenizer="whitespace", stop="none", **settings)  # type: ignore[arg-type]


WORDS = st.sampled_from(["cat", "dog", "fish", "bird", "newt"])
TEXTS = st.lists(st.lists(WORDS, max_size=9), min_size=1, max_size=8).filter(any)
QUERY = st.lists(WORDS | st.sampled_from(["unheard", "unseen"]), max_size=8)
CASES = {
    "one document": ([["cat", "cat", "dog"]], ["cat", "dog", "dog", "unheard"]),
    "one document, one term": ([["cat"]], ["cat"]),
    "empty documents": ([[], ["cat", "dog"], [], ["dog"]], ["cat", "dog"]),
    "a term in all": ([["cat"], ["cat", "dog"], ["cat", "cat", "fish"]], ["cat", "cat", "fish"]),
    "a term in most": ([["cat"], ["cat", "dog"], ["cat"], ["fish"]], ["cat", "fish", "dog"]),
    "a term in half": ([["cat"], ["cat", "dog"], ["newt"], ["fish"]], ["cat"]),
    "no term": ([["cat"], []], []),
    "only unknown terms": ([["cat"], ["dog"]], ["unheard", "unheard"]),
}


def each_case(test: Any) -> Any:
    """Tries the cases too, each with the settings that follow."""
    for texts, query in CASES.values():
        test = example(texts=texts, query=query, k1=1.2, b=0.6, epsilon=0.25)(test)
    return test


# -- rank_bm25 --------------------------------------------------------------------------------


def theirs(peer: Any, texts: Tokens, query: Sequence[str], **settings: Any) -> Any:
    return peer(texts, **settings).get_scores(list(query))


def close(found: Any, expected: Any, bound: float = 1e-6) -> bool:
    return bool(np.allclose(found, expected, rtol=bound, atol=bound))


@settings(max_examples=60)
@given(
    texts=TEXTS, query=QUERY, k1=st.floats(0.1, 3), b=st.floats(0, 0.95), epsilon=st.floats(0, 1)
)
@each_case
def test_okapi_is_rank_bm25s(
    texts: Tokens, query: list[str], k1: float, b: float, epsilon: float
) -> None:
    how = {"k1": k1, "b": b, "epsilon": epsilon}
    found = on_words(texts, query, plain("okapi", **how))
    assert close(found, theirs(rank_bm25.BM25Okapi, texts, query, **how))


@settings(max_examples=40)
@given(texts=TEXTS, query=QUERY, delta=st.floats(0.1, 2))
def test_bm25l_is_rank_bm25s(texts: Tokens, query: list[str], delta: float) -> None:
    """As the retriever says of itself."""
    found = on_words(texts, query, plain("rank-bm25l", delta=delta))
    assert close(found, theirs(rank_bm25.BM25L, texts, query, delta=delta))


# -- bm25s ------------------------------------------------------------------------------------


def bm25s_scores(form: str, texts: Tokens, query: Sequence[str], **settings: Any) -> Any:
    model = bm25s.BM25(method=form, dtype="float64", **settings)
    model.index(texts, show_progress=False)
    tokens = [word for word in query if word in model.vocab_dict]
    return model.get_scores(tokens) if tokens else np.zeros(len(texts))


in_bm25s = pytest.mark.parametrize("form", ["lucene", "atire", "bm25l", "bm25+"])


@in_bm25s
@settings(max_examples=40)
@given(
    texts=TEXTS, query=QUERY, k1=st.floats(0.1, 3), b=st.floats(0, 0.95), delta=st.floats(0.1, 2)
)
def test_scores_are_bm25s(
    form: str, texts: Tokens, query: list[str], k1: float, b: float, delta: float
) -> None:
    settings = {"k1": k1, "b": b, "delta": delta}
    found = on_words(texts, query, plain(form, **settings))
    assert close(found, bm25s_scores(form, texts, query, **settings), 1e-5)


@pytest.mark.parametrize(
    ("form", "k1", "b", "delta"),
    [
        ("lucene", 0.9, 0.4, 0.0),
        ("okapi", 1.5, 0.75, 0.0),
        ("atire", 1.5, 0.75, 0.0),
        ("bm25l", 1.5, 0.75, 0.5),
        ("bm25+", 1.5, 0.75, 1.0),
    ],
)
def test_each_form_has_its_defaults(form: Any, k1: float, b: float, delta: float) -> None:
    settings = BM25(form=form).settings()
    assert (settings["k1"], settings["b"], settings["delta"]) == (k1, b, delta)
    told = BM25(form=form, k1=0.0, b=0.0, delta=0.0).settings()
    assert (told["k1"], told["b"], told["delta"]) == (0.0, 0.0, 0.0)


# -- real text --------------------------------------------------------------------------------


def test_sentences_give_the_run_of_their_text() -> None:
    for some in ({}, ENGLISH, {"statistics": "candidates", "form": "okapi"}):
        runs = [
            rank(load_task("relic/sample/val", doc=doc), BM25(**some), progress=False)
            for doc in ("default", "sentences")
        ]
        assert runs[0] == runs[1]


# -- whose statistics -------------------------------------------------------------------------


@st.composite
def pooled(draw: st.DrawFn) -> tuple[Tokens, list[str], list[int]]:
    texts, query = draw(TEXTS), draw(QUERY)
    pool = draw(st.lists(st.sampled_from(range(len(texts))), min_size=1, unique=True))
    return texts, query, pool


@pytest.mark.parametrize("form", FORM_NAMES)
@settings(max_examples=40)
@given(case=pooled())
def test_statistics_of_candidates_are_those_of_a_collection_of_them(
    form: str, case: tuple[Tokens, list[str], list[int]]
) -> None:
    texts, query, pool = case
    docs = {f"d{i}": " ".join(words) for i, words in enumerate(texts)}
    asked = {"q": " ".join(query)}
    dataset_id = register(docs, asked, {"q": [f"d{i}" for i in pool]})
    own = on_words([texts[i] for i in pool], query, plain(form))
    found = matrix(dataset_id, plain(form, statistics="candidates"))["q"]
    assert close(found, own, 1e-9)
    whole = on_words(texts, query, plain(form))
    found = matrix(dataset_id, plain(form, statistics="corpus"))["q"]
    assert close(found, whole[pool], 1e-9)


# -- query likelihood -------------------------------------------------------------------------


def likelihood(
    texts: Tokens, query: Sequence[str], smoothing: str, mu: float, lam: float
) -> list[float]:
    """The log of each model's probability of the query, a term at a time."""
    total = sum(map(len, texts))
    occurrences = Counter(word for text in texts for word in text)
    scores = []
    for text in texts:
        score = 0.0
        for word in query:
            if word not in occurrences:
                continue
            tf, background = text.count(word), occurrences[word] / total
            if smoothing == "dirichlet":
                score += math.log((tf + mu * background) / (len(text) + mu))
            else:
                own = tf / len(text) if text else 0.0
                score += math.log((1 - lam) * own + lam * background)
        scores.append(score)
    return scores


def model(smoothing: str, **settings: Any) -> QueryLikelihood:
    shared: dict[str, Any] = {"tokenizer": "whitespace", "stop": "none", **settings}
    return QueryLikelihood(smoothing=smoothing, **shared)  # type: ignore[arg-type]


smoothings = pytest.mark.parametrize("smoothing", ["dirichlet", "jm"])


@smoothings
@settings(max_examples=40)
@given(texts=TEXTS, query=QUERY, mu=st.floats(0.1, 3000), lam=st.floats(0.01, 1))
def test_query_likelihood_is_the_sum_of_logs(
    smoothing: str, texts: Tokens, query: list[str], mu: float, lam: float
) -> None:
    found = on_words(texts, query, model(smoothing, mu=mu, lam=lam))
    assert close(found, likelihood(texts, query, smoothing, mu, lam), 1e-9)


@smoothings
@settings(max_examples=40)
@given(case=pooled())
def test_query_likelihood_with_statistics_of_candidates_or_corpus(
    smoothing: str, case: tuple[Tokens, list[str], list[int]]
) -> None:
    texts, query, pool = case
    docs = {f"d{i}": " ".join(words) for i, words in enumerate(texts)}
    dataset_id = register(docs, {"q": " ".join(query)}, {"q": [f"d{i}" for i in pool]})
    whole = np.array(likelihood(texts, query, smoothing, 1000.0, 0.1))
    assert close(matrix(dataset_id, model(smoothing))["q"], whole[pool], 1e-9)
    own = likelihood([texts[i] for i in pool], query, smoothing, 1000.0, 0.1)
    found = matrix(dataset_id, model(smoothing, statistics="candidates"))["q"]
    assert close(found, own, 1e-9)


# -- Lucene -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def coarse_lengths(lengths: Sequence[int]) -> Any:
    """Lengths as Lucene stores them."""
    return stored_lengths(np.array(lengths, np.int64), "lucene")


@with_java
def test_stored_lengths_are_lucenes() -> None:
    small = _java.java_class("org.apache.lucene.util.SmallFloat")
    lengths = [*range(3000), 12345, 10**6, (1 << 31) - 1]
    found = [small.byte4ToInt(small.intToByte4(length)) for length in lengths]
    assert coarse_lengths(lengths).tolist() == found


def vaswani(folder: Path) -> tuple[Texts, Texts, list[Any]]:
    def read(name: str, pattern: str) -> list[Any]:
        return re.findall(pattern, (folder / name).read_text("utf-8"), re.DOTALL)

    docs = read("doc-text.trec", r"<DOC>\s*<DOCNO>(\d+)</DOCNO>\s*(.*?)\s*</DOC>")
    queries = read("query-text.trec", r"<num>(\d+)</num><title>\s*(.*?)\s*</title>")
    rows = (line.split() for line in (folder / "qrels").read_text().splitlines())
    qrels = [TrecQrel(query, doc, int(grade), "0") for query, _, doc, grade in rows]
    return dict(docs), dict(queries), qrels


@pytest.fixture(scope="module")
def npl(real_data: Path) -> tuple[Texts, Texts, list[Any]]:
    if not (real_data / "vaswani").is_dir():
        pytest.skip(f"{real_data} has no vaswani collection")
    return vaswani(real_data / "vaswani")


def zipfian(count: int, longest: int) -> Texts:
    """Texts of up to so many words, of which few are frequent; some have no term, one is empty."""
    draw = np.random.default_rng(7)
    words = [f"{stem}{ending}" for stem in ("run", "whale", "sea", "harpoon", "captain", "house")
             for ending in ("", "s", "ing", "'s", "\N{TRADE MARK SIGN}", "-born")]  # fmt: skip
    weights = 1 / np.arange(1, len(words) + 1)
    docs = {
        f"d{n}": " ".join(draw.choice(words, draw.integers(1, longest), p=weights / weights.sum()))
        for n in range(count)
    }
    return {**docs, "stop": "the of and", "none": " ", "emoji": "whales \N{WHALE} 3.5"}


@with_java
@pytest.mark.parametrize("kept", [False, True])
def test_bm25_anserini_scores_as_lucene_does(kept: bool, tmp_path: Path) -> None:
    """By its name, in memory and from an index, with texts so long that Lucene rounds their lengths."""
    queries = {
        "q1": "whale",
        "q2": "running captains at sea",
        "q3": "the",
        "q4": "\N{WHALE} house house",
    }
    data = ir.load(zipfian(300, 400), queries=queries)
    real = ir.retrieve(data, "lucene", progress=False).as_dict()
    if kept:
        index = ir.index(data, "bm25-anserini", tmp_path / "index", progress=False)
        texts = [(text,) for text in queries.values()]
        found = index.run(np.array(list(queries)), texts, 1000).as_dict()
    else:
        found = ir.retrieve(data, "bm25-anserini", depth=1000, progress=False).as_dict()
    assert {query: len(rows) for query, rows in found.items()} == {
        query: len(real.get(query, {})) for query in found
    }
    for query, rows in real.items():
        assert found[query] == pytest.approx(rows, rel=1e-5, abs=1e-5)


@pytest.mark.nightly
def test_vaswani_is_as_terrier_has_it(npl: tuple[Texts, Texts, list[Any]]) -> None:
    """Terrier's BM25 gives MAP 0.2965 and nDCG 0.6212, with other stop words, k1 and b."""
    docs, queries, qrels = npl
    dataset_id = register(docs, queries, qrels=qrels)
    retriever = BM25(tokenizer="standard", stop="sklearn", stem="porter")
    run = rank(load_task(dataset_id), retriever, depth=1000, progress=False)
    judged = Qrels.of(ir_datasets.load(dataset_id))
    found = evaluate(run, judged, parse_measures("AP nDCG")).figures()
    assert found == pytest.approx({"AP": 0.2965, "nDCG": 0.6212}, abs=0.01)

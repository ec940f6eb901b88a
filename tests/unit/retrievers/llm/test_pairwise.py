"""PairwiseReranker reranking: choices as models write them, and the three ways to an order."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.generator import FILTERED, Completion
from irtoolkit.retrievers.llm.pairwise import PairwiseReranker, read_choice
from tests.llm_server import Handler, Stub
from tests.ranked_by_llm import (
    QUERIES,
    asked_twice,
    best_order,
    choice,
    first_stage,
    oracle,
    ranking,
    texts_worth,
)

METHODS = ["sliding", "sorting", "allpair"]


@pytest.fixture
def retriever(stub: Stub) -> PairwiseReranker:
    stub.always = oracle
    return PairwiseReranker(llm="gpt-test", endpoint=stub.url)


def test_a_filtered_answer_chooses_nothing() -> None:
    assert read_choice(Completion("Passage A", FILTERED)) is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_an_oracle_makes_it_a_sort(
    stub: Stub, retriever: PairwiseReranker, method: Any, count: int
) -> None:
    docs = texts_worth(count)
    found = ranking(first_stage(docs), replace(retriever, method=method))
    assert found == {query: best_order(docs, query) for query in QUERIES}
    assert not asked_twice(stub.prompts)


def test_as_many_passes_bring_as_many_to_the_top(stub: Stub, retriever: PairwiseReranker) -> None:
    docs = texts_worth(12)
    found = ranking(first_stage(docs, ["q1"]), replace(retriever, passes=3))["q1"]
    assert found[:3] == best_order(docs, "q1")[:3]
    assert found != best_order(docs, "q1")
    # What lies below keeps the order that comparing neighbours leaves.
    order = sorted(docs)
    for best in range(3):
        for at in range(len(order) - 2, best - 1, -1):
            pair = {doc: docs[doc] for doc in order[at : at + 2]}
            order[at : at + 2] = best_order(pair, "q1")
    assert found == order


def test_prompts_that_each_method_takes(stub: Stub, retriever: PairwiseReranker) -> None:
    counts = {}
    for method in METHODS:
        stub.bodies.clear()
        retriever = replace(
            retriever, seed=len(counts), passes=2
        )  # nothing is known of another seed
        ranking(first_stage(texts_worth(16), ["q1"]), replace(retriever, method=method))
        counts[method] = len(stub.bodies)
    assert counts["allpair"] == 16 * 15
    # Neighbours of the second pass may be of the first, too.
    assert 2 * 15 < counts["sliding"] <= 2 * (15 + 14)
    assert 16 * 2 <= counts["sorting"] <= 2 * (16 * 4 - 15)


@pytest.mark.parametrize("method", METHODS)
def test_documents_that_are_equal_keep_their_order(
    stub: Stub, retriever: PairwiseReranker, method: Any
) -> None:
    """Groups of equal worth, which the model cannot tell apart."""
    docs = {f"d{i}": f"worth {value} no {i}" for i, value in enumerate([1, 3, 1, 3, 2, 3, 1])}

    def coarse(handler: Handler) -> None:
        a, b = re.findall(r"worth (\d)", handler.prompt)
        handler.write_out("Passage A" if a == b else choice(handler.prompt))

    stub.always = coarse
    found = ranking(first_stage(docs, ["q1"]), replace(retriever, method=method))
    assert found["q1"] == ["d1", "d3", "d5", "d4", "d0", "d2", "d6"]


@pytest.mark.parametrize("method", METHODS)
def test_answers_that_cannot_be_read_are_ties_and_counted(
    stub: Stub, retriever: PairwiseReranker, method: Any, caplog: pytest.LogCaptureFixture
) -> None:
    docs = {"d0": "worth 1", "d1": "worth 2", "d2": "worth 3 secret"}

    def partly(handler: Handler) -> None:
        handler.write_out("No!" if "secret" in handler.prompt else choice(handler.prompt))

    stub.always = partly
    with caplog.at_level(logging.WARNING):
        found = ranking(first_stage(docs, ["q1"]), replace(retriever, method=method))
    # All pairs: one win and a tie each for d1, none for d0, and two ties for d2.
    expected = ["d1", "d2", "d0"] if method == "allpair" else ["d1", "d0", "d2"]
    assert found["q1"] == expected
    assert re.search(r"\d of \d answers unreadable, which leaves the order as it was", caplog.text)
    assert "turned around" not in caplog.text


@pytest.mark.parametrize(
    ("change", "found"),
    [({"passes": 0}, "passes=0"), ({"prompt": "{query} {a}"}, r"the prompt has no \{b\}")],
)
def test_settings_that_cannot_be(
    retriever: PairwiseReranker, change: dict[str, Any], found: str
) -> None:
    with pytest.raises(InputError, match=found):
        ranking(first_stage(texts_worth(3)), replace(retriever, **change))

"""ListwiseReranker reranking: windows, permutations as models write them, and orders that come out."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.llm.listwise import ListwiseReranker
from irtoolkit.retrievers.llm.permutation import windows
from irtoolkit.retrievers.task import load_task
from tests.datasets import register
from tests.llm_server import Stub
from tests.ranked_by_llm import (
    QUERIES,
    asked_twice,
    best_order,
    first_stage,
    oracle,
    ranking,
    shown,
    texts_worth,
)


@pytest.fixture
def retriever(stub: Stub) -> ListwiseReranker:
    stub.always = oracle
    return ListwiseReranker(llm="gpt-test", endpoint=stub.url)


# -- the permutation that an answer gives -----------------------------------------------------


@pytest.mark.parametrize(
    ("count", "size", "step", "expected"),
    [
        (100, 20, 10, [(start, start + 20) for start in range(80, -1, -10)]),
        (20, 20, 10, [(0, 20)]),
        (25, 20, 10, [(5, 25), (0, 15)]),
        (7, 20, 10, [(0, 7)]),
        (5, 2, 1, [(3, 5), (2, 4), (1, 3), (0, 2)]),
        (1, 20, 10, []),
        (0, 20, 10, []),
    ],
)
def test_windows(count: int, size: int, step: int, expected: list[tuple[int, int]]) -> None:
    assert [(w.start, w.stop) for w in windows(count, size, step)] == expected


# -- rankings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [100, 20, 95])
def test_an_oracle_brings_its_best_to_the_top(
    stub: Stub, retriever: ListwiseReranker, count: int
) -> None:
    docs = texts_worth(count)
    found = ranking(first_stage(docs), retriever)
    for query, order in found.items():
        assert sorted(order) == sorted(docs)
        whole = retriever.window if count <= retriever.window else retriever.step
        assert order[:whole] == best_order(docs, query)[:whole]
    # Windows of both queries are one round, and each was asked once.
    assert len(stub.prompts) == 2 * len(list(windows(count, 20, 10)))
    assert not asked_twice(stub.prompts)


# -- bad answers ------------------------------------------------------------------------------


def test_bad_answers_are_counted_in_one_note(
    stub: Stub, retriever: ListwiseReranker, caplog: pytest.LogCaptureFixture
) -> None:
    docs = texts_worth(8)
    wrong = {0: "[1] > [1] > [2]", 1: "Sorry.", 2: "[9] > [2] > [1] > [3] > [4]"}
    for number, text in wrong.items():
        stub.faults[number] = lambda handler, text=text: handler.write_out(text)  # type: ignore[misc]
    stub.faults[3] = lambda handler: handler.write_out("[4] > ", "length")
    small = replace(retriever, window=4, step=2, parallel=1)
    with caplog.at_level(logging.WARNING):
        ranking(first_stage(docs), small)
    assert caplog.messages == [
        "gpt-test: 6 prompts for 2 queries: 6 asked, 0 answered before; 3 of 6 answers repaired;"
        " 1 of 6 answers unreadable, which leaves the order as it was; 1 of 6 answers cut at"
        " max_tokens"
    ]
    caplog.clear()
    ranking(first_stage(docs), small)
    assert "6 prompts for 2 queries: 0 asked, 6 answered before; 3 of 6" in caplog.messages[0]


def test_a_filtered_answer_is_none(stub: Stub, retriever: ListwiseReranker) -> None:
    docs = texts_worth(5)
    stub.faults[0] = lambda handler: handler.write_out("[5] > [4]", "content_filter")
    found = ranking(first_stage(docs), replace(retriever, parallel=1))
    assert sorted(docs) in found.values()
    assert any(found[query] == best_order(docs, query) for query in QUERIES)


def test_nothing_but_nonsense_makes_no_run(stub: Stub, retriever: ListwiseReranker) -> None:
    stub.always = lambda handler: handler.write_out("As a model, I like\nall of them. " * 9)
    with pytest.raises(InputError) as caught:
        ranking(first_stage(texts_worth(6)), retriever)
    said = str(caught.value)
    assert "none of 2 answers of gpt-test can be read, such as 'As a model, I like all of" in said
    assert "...' (stop) (the documents would stay in their order: change prompt" in said


def test_much_nonsense_is_not_paid_for_to_the_end(stub: Stub, retriever: ListwiseReranker) -> None:
    stub.always = lambda handler: handler.write_out("nonsense")
    small = replace(retriever, window=2, step=1)
    with pytest.raises(InputError, match="none of 32 answers"):
        ranking(first_stage(texts_worth(60), ["q1"]), small)
    assert len(stub.bodies) == 32


# -- what is refused --------------------------------------------------------------------------


def test_candidates_without_an_order_are_refused(stub: Stub, retriever: ListwiseReranker) -> None:
    docs = texts_worth(5)
    whole = load_task(register(docs, QUERIES))
    with pytest.raises(InputError, match=r"ask gpt-test about every document of .*rerank test-"):
        ranking(whole, retriever)
    pooled = load_task(register(docs, QUERIES, {query: ["d001", "d002"] for query in QUERIES}))
    with pytest.raises(InputError, match=r"improves the order of a first stage.*irtoolkit rerank"):
        ranking(pooled, retriever)
    assert stub.bodies == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"window": 1}, "window=1 is not at least 2"),
        ({"words": 0}, "words=0 is not at least 1"),
        ({"prompt": "Order {count}: {documents}"}, "the same for every query"),
        ({"llm": ""}, "no language model is named"),
    ],
)
def test_settings_that_cannot_be(
    stub: Stub, retriever: ListwiseReranker, change: dict[str, Any], found: str
) -> None:
    with pytest.raises(InputError, match=found):
        ranking(first_stage(texts_worth(5)), replace(retriever, **change))
    assert stub.bodies == []


@pytest.mark.parametrize(
    ("prompt", "begins"),
    [
        ("{query}:\n{documents}", "Find gold, q1\n\nQ: the most precious:"),
        ("{query}, {instruction}:\n{documents}", "Q: the most precious, Find gold, q1:"),
    ],
)
def test_an_instruction_and_prompts_of_each_side(
    stub: Stub, retriever: ListwiseReranker, prompt: str, begins: str
) -> None:
    """As every retriever with a model takes them: {field} is a field of the query's record."""
    how = {"instruction": "Find gold, {query_id}", "query_prompt": "Q: ", "document_prompt": "D: "}
    ranking(first_stage(texts_worth(3), ["q1"]), replace(retriever, prompt=prompt, **how))
    [asked] = stub.prompts
    assert asked.startswith(begins)
    assert all(text.startswith("D: a thing of worth") for text in shown(asked))


@pytest.mark.parametrize(
    "error",
    [
        ("This model's maximum context length is 4096 tokens.", "context_length_exceeded"),
        ("the request exceeds the available context size", "exceed_context_size_error"),
    ],
)
def test_a_prompt_beyond_the_context_says_what_makes_it_shorter(
    stub: Stub, retriever: ListwiseReranker, error: tuple[str, str]
) -> None:
    stub.always = lambda h: h.refuse(400, error[0], "invalid_request_error", error[1])
    with pytest.raises(InputError) as caught:
        ranking(first_stage(texts_worth(5)), retriever)
    assert error[0] in str(caught.value)
    assert "words=300, or take a smaller window than window=20" in str(caught.value.remedy)

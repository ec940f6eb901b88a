"""PointwiseReranker reranking: log-probabilities of yes and no, and grades."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.generator import FILTERED
from irtoolkit.retrievers.llm.pointwise import PointwiseReranker
from irtoolkit.retrievers.task import load_task
from tests.datasets import register, scores_of
from tests.llm_server import Handler, Reply, Stub
from tests.ranked_by_llm import first_stage, ranking, texts_worth, worth


def logprobs(**tokens: float) -> dict[str, Any]:
    """What an answer says of its only token, the likeliest of some, whose probabilities are given."""
    listed = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in tokens.items()]
    best = max(listed, key=lambda item: float(str(item["logprob"])))
    return {"content": [{**best, "top_logprobs": listed}], "refusal": None}


def sure(handler: Handler) -> None:
    """Yes, as surely as a document is worth something."""
    share = (worth(handler.prompt) + 1) / 200
    share = 1 - share if "cheapest" in handler.prompt else share
    said = logprobs(Yes=share / 2, yes=share / 2, No=1 - share)
    handler.write_out("Yes" if share > 0.5 else "No", logprobs=said)


@pytest.fixture
def retriever(stub: Stub) -> PointwiseReranker:
    stub.always = sure
    return PointwiseReranker(llm="gpt-test", endpoint=stub.url)


def test_scores_are_log_odds(retriever: PointwiseReranker) -> None:
    docs = texts_worth(4)
    scores = scores_of(first_stage(docs, ["q1"]), retriever)["q1"]
    for doc, text in docs.items():
        share = (worth(text) + 1) / 200
        assert scores[doc] == pytest.approx(math.log(share / (1 - share)), rel=1e-6)


def test_an_endpoint_without_log_probabilities_is_told_at_the_first_prompt(
    stub: Stub, retriever: PointwiseReranker
) -> None:
    stub.always = lambda handler: handler.write_out("yes")
    with pytest.raises(InputError, match=r"without log-probabilities \(set answer=grade"):
        ranking(first_stage(texts_worth(30)), retriever)
    assert len(stub.bodies) == 1


def test_an_endpoint_that_refuses_them_is_told_as_well(
    stub: Stub, retriever: PointwiseReranker
) -> None:
    stub.always = lambda h: h.refuse(400, "logprobs are not supported", "invalid_request_error")
    with pytest.raises(InputError, match=r"logprobs are not supported.*answer=grade"):
        ranking(first_stage(texts_worth(30)), retriever)
    assert len(stub.bodies) == 1


def graded(handler: Handler) -> None:
    handler.write_out(f"Grade: {min(4, worth(handler.prompt))}")


def test_grades_rank_and_equal_ones_keep_their_order(
    stub: Stub, retriever: PointwiseReranker
) -> None:
    stub.always = graded
    docs = {f"d{i}": f"worth {value}" for i, value in enumerate([1, 4, 0, 4, 1, 3, 9])}
    how = replace(retriever, answer="grade")
    assert ranking(first_stage(docs, ["q1"]), how)["q1"] == [
        "d1", "d3", "d6", "d5", "d0", "d4", "d2",
    ]  # fmt: skip
    assert all("logprobs" not in body for body in stub.bodies)
    assert "from 0, not at all, to 4, perfectly" in stub.prompts[0]
    # Without a first stage the grades themselves are the scores.
    pooled = load_task(register(docs, {"q1": "x"}, {"q1": list(docs)}))
    assert list(scores_of(pooled, how)["q1"].values()) == [1, 4, 0, 4, 1, 3, 4]


@pytest.mark.parametrize(
    "bad",
    [
        lambda h: h.write_out("maybe", logprobs=logprobs(maybe=0.9, perhaps=0.1)),
        lambda h: h.write_out("", logprobs={"content": []}),
        lambda h: h.write_out("Yes", FILTERED, logprobs=logprobs(Yes=1.0)),
    ],
)
def test_a_document_without_an_answer_keeps_its_place(
    stub: Stub, retriever: PointwiseReranker, bad: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    docs = {"d0": "worth 1", "d1": "worth 0 odd", "d2": "worth 2", "d3": "worth 3"}
    stub.always = lambda h: bad(h) if "odd" in h.prompt else sure(h)
    with caplog.at_level(logging.WARNING):
        found = ranking(first_stage(docs, ["q1"]), retriever)["q1"]
    assert found == ["d3", "d1", "d2", "d0"]
    assert "1 of 4 answers unreadable" in caplog.text
    pooled = load_task(register(docs, {"q1": "x"}, {"q1": list(docs)}))
    scores = scores_of(pooled, retriever)["q1"]
    assert min(scores, key=lambda doc: scores[doc]) == "d1"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"alternatives": 1}, "alternatives=1 is not at least 2"),
        ({"grades": 0}, "grades=0"),
        ({"prompt": "{query}?"}, r"no \{document\}"),
        ({"prompt": "{document} {most}"}, "same for every query"),
    ],
)
def test_settings_that_cannot_be(
    retriever: PointwiseReranker, change: dict[str, Any], found: str
) -> None:
    with pytest.raises(InputError, match=found):
        ranking(first_stage(texts_worth(3)), replace(retriever, **change))

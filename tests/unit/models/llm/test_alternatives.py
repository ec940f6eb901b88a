"""Log-probabilities as servers give them, and the odds between two words."""

from __future__ import annotations

import math
from typing import Any

import pytest

from irtoolkit.models.llm.alternatives import alternatives_of, answer_place, log_odds


def place(token: Any, logprob: Any = -0.1, *others: tuple[Any, Any]) -> dict[str, Any]:
    listed = [{"token": token, "logprob": logprob} for token, logprob in others]
    return {"token": token, "logprob": logprob, "top_logprobs": listed}


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [
        (None, None),
        ({"content": None}, None),
        ({"content": []}, {}),
        ({"content": [place("yes")]}, {"yes": -0.1}),
        (
            {"content": [place("**"), place("Yes", -0.5, ("Yes", -0.5), ("No", -1)), place("no")]},
            {"Yes": -0.5, "No": -1.0},
        ),
        ({"content": [{"token": "a", "logprob": -1, "top_logprobs": None}]}, {"a": -1.0}),
        ({"content": [place("y\ud83d", -1)]}, {"y?": -1.0}),
    ],
)
def test_what_a_server_says(logprobs: Any, expected: Any) -> None:
    assert alternatives_of({"logprobs": logprobs}) == expected


def of(**shares: float) -> dict[str, float]:
    return {token: math.log(share) for token, share in shares.items()}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"yes": 0.6, "no": 0.2}, 3.0),
        ({"Yes": 0.3, " yes": 0.2, "\u2581YES": 0.1, "no": 0.1, '"No"': 0.1}, 3.0),
        ({"yes": 0.9, "maybe": 0.05, "well": 0.01}, 90.0),
        ({"no": 0.9, "maybe": 0.01}, 1 / 90),
        ({"yes": 0.5}, 1.0),
        ({"yesterday": 0.4, "not": 0.4}, None),
        ({}, None),
    ],
)
def test_odds(shares: dict[str, float], expected: float | None) -> None:
    found = log_odds(of(**shares), "yes", "no")
    assert found is None if expected is None else found == pytest.approx(math.log(expected))


@pytest.mark.parametrize(
    ("tokens", "reasons", "place"),
    [
        (["true"], False, 0),
        (["So", " it", " is", "</think>", " ", "true"], True, 5),
        (["a", "</think>b", "</think>", " true"], True, 3),
        (["hm</think>true"], True, 0),
        (["<think>", "it", " may"], False, None),
        ([], False, None),
    ],
)
def test_the_answer_follows_the_reasoning(
    tokens: list[str], reasons: bool, place: int | None
) -> None:
    """As of Rank1, whose prompt begins the reasoning itself."""
    assert answer_place(tokens, reasons) == place

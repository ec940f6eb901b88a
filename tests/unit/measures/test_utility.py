"""Utility and the number of documents that are judged not relevant, by hand."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.score import score

# Two relevant ones are listed and three others, of which one has no judgment and one a negative one.
RUN = {"q": {name: -float(place) for place, name in enumerate("abcde")}}
QRELS = {"q": {"a": 1, "b": 2, "c": 0, "d": -1, "z": 1}, "lacking": {"a": 1, "b": 0}}


def values(name: str) -> list[float]:
    return score(QRELS, RUN, name, names=["x"]).values("x", name).tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Utility", 2 - 3),
        ("Utility(rel=2)", 1 - 4),
        ("Utility(weights='3,-0.5,-1,0')", 3 * 2 - 0.5 * 3 - 1),
        # Of 100 documents, 94 are neither listed nor relevant.
        ("Utility(weights='0,0,0,0.5',docs=100)", 0.5 * 94),
    ],
)
def test_utility_is_a_weighted_sum(name: str, value: float) -> None:
    """A query that the run lacks has none, whatever it misses."""
    assert values(name) == pytest.approx([value, 0])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Utility(weights='1,-1')", r"has 2 weights \(give four\)"),
        ("Utility(weights='1,a,0,0')", "weights has no numbers"),
        ("Utility(weights='1,-1,0,1')", "say how many the collection has: docs=1000"),
        ("Utility(rel=0)", "rel=1 or more"),
        ("NumNonrelJudgedRet(rel=0)", "rel=1 or more"),
    ],
)
def test_what_has_no_utility_is_refused(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        values(name)


def test_only_judged_documents_are_counted_as_not_relevant() -> None:
    assert values("NumNonrelJudgedRet") == [1, 0]
    assert values("NumNonrelJudgedRet(rel=2)") == [2, 0]


def test_counts_are_summed_over_queries_and_utilities_averaged() -> None:
    run = RUN | {"lacking": {"b": 2.0, "c": 1.0}}
    scores = score(QRELS, run, "NumNonrelJudgedRet Utility", names=["x"])
    assert scores.figures()["x"] == {"NumNonrelJudgedRet": 2, "Utility": (-1 - 2) / 2}
    assert scores.counts("NumNonrelJudgedRet")

"""G, binG, nDCGrel and RnDCG: gains, by hand."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.measures.gain import G
from irtoolkit.measures.ndcg_points import nDCGrel
from irtoolkit.measures.traits import Traits, traits
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate
from irtoolkit.scoring.score import score

# Grades in rank order: 0, 2, none, 1, -1, 0; a document of grade 3 and one of grade 1 are not listed.
RUN = {"q": {name: -float(place) for place, name in enumerate("abcdef")}}
QRELS = {"q": {"a": 0, "b": 2, "d": 1, "e": -1, "f": 0, "y": 3, "z": 1}}
IDEAL = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5)


def value(name: str, run: Any = RUN, qrels: Any = QRELS) -> float:
    return float(score(qrels, run, name, names=["x"]).values("x", name)[0])


def test_g_by_hand() -> None:
    """At rank 2 the best order has 3 + 2 and we 2; at rank 4 it has 7, and we 3."""
    assert value("G") == pytest.approx((2 / log2(2 + 3) + 1 / log2(2 + 4)) / 7)


def test_bing_by_hand() -> None:
    """One document that is not relevant above b, two above d; four are relevant."""
    assert value("binG") == pytest.approx((1 / log2(3) + 1 / log2(4)) / 4)
    assert value("binG(rel=2)") == pytest.approx(1 / log2(3) / 2)


def test_ndcgrel_by_hand() -> None:
    """At b and d the nDCG of their ranks; the two that are not listed have that of the whole list."""
    at_b = (2 / log2(3)) / (3 + 2 / log2(3))
    whole = (2 / log2(3) + 1 / log2(5)) / IDEAL
    assert value("nDCGrel") == pytest.approx((at_b + whole + 2 * whole) / 4)


def test_rndcg_by_hand() -> None:
    """The ideal gain falls after ranks 1, 2 and 4; the list ends at rank 6, below rank 5."""
    at_2 = (2 / log2(3)) / (3 + 2 / log2(3))
    whole = (2 / log2(3) + 1 / log2(5)) / IDEAL
    assert value("RnDCG") == pytest.approx((0 + at_2 + whole + whole) / 4)
    five = {"q": {doc: score for doc, score in RUN["q"].items() if doc != "f"}}
    assert value("RnDCG", five) == pytest.approx((0 + at_2 + whole) / 3)


def test_a_negative_sum_counts_0() -> None:
    """trec_eval leaves a value at 0 unless the sum is above it."""
    measures = {"nDCGrel": nDCGrel(gains={0: -9})}
    assert evaluate(Run.of(RUN), Qrels.of(QRELS), measures).per_query("nDCGrel").tolist() == [0]


def test_rndcg_needs_a_relevant_document() -> None:
    assert value("RnDCG(rel=3)") == value("RnDCG")
    assert value("RnDCG(rel=4)") == 0


def test_a_negative_gain_counts_against_a_ranking() -> None:
    found = evaluate(Run.of(RUN), Qrels.of(QRELS), {"G": G(gains={0: -1})}).per_query("G")
    # At rank 2 the best order has 5 and we 2 - 1; f has rank 6, where the best order has 7 + 2.
    wanted = -1 / log2(2 + 3 + 1) + 2 / log2(2 + 4) + 1 / log2(2 + 5) - 1 / log2(2 + 8)
    assert found.tolist() == pytest.approx([wanted / 7])


@pytest.mark.parametrize("name", ["G", "nDCGrel", "RnDCG"])
def test_a_query_without_a_gain_scores_0(name: str) -> None:
    for qrels in ({"q": {"a": 0}}, {"q": {"a": -2}}, {"q": {"z": 0, "b": -1}}):
        assert value(name, qrels=qrels) == 0
    assert value(f"{name}(gains={{1:0}})", qrels={"q": {"a": 1}}) == 0


@pytest.mark.parametrize("name", ["G", "nDCGrel", "RnDCG"])
@pytest.mark.parametrize("gains", ["{-1: 2}", "{'a': 2}", "{1: 'b'}", "{1: 1e999}", "{0.5: 1}"])
def test_gains_are_numbers_of_grades(name: str, gains: str) -> None:
    with pytest.raises(InputError, match=r"gains are numbers of grades|is not valid"):
        value(f"{name}(gains={gains})")


@pytest.mark.parametrize("name", ["binG", "RnDCG"])
def test_a_lowest_relevant_grade_of_0_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="rel=1 or more"):
        value(f"{name}(rel=0)")


def test_exact_ranks_are_used_where_those_of_relevant_documents_suffice() -> None:
    used = Traits(exact_ranks=True)
    assert [traits(name) for name in ("G", "nDCGrel(gains={1:3})", "binG")] == [used] * 3
    assert traits("G(gains={0:1})") == traits("RnDCG") == Traits()

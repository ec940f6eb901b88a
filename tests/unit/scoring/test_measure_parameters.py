"""Parameters of measures: what is refused, and in which words."""

from __future__ import annotations

import math

import ir_measures
import pytest
from ir_measures import AP, IPrec, P, SetF

import irtoolkit
from irtoolkit.base.errors import InputError
from irtoolkit.scoring.evaluation import parse_measures


@pytest.mark.parametrize(
    "name",
    [
        "P.0", "P_0", "P.5,0", "ndcg_cut.0", "recall.0", "map_cut.0", "success.0", "P@0", "AP@0",
    ],
)  # fmt: skip
def test_a_cutoff_of_zero_is_refused_by_every_name(name: str) -> None:
    with pytest.raises(InputError, match="its cutoff is 0") as caught:
        parse_measures(name)
    assert caught.value.remedy == "cutoff is a whole number, 1 or more"
    with pytest.raises(InputError, match="its cutoff is 0"):
        parse_measures([name])


ONE_OR_MORE = "is a whole number, 1 or more"


@pytest.mark.parametrize(
    ("name", "found", "remedy"),
    [
        ("AP(rel=1,rel=2)", "rel is given twice", "give it once"),
        ("AP(rel=1,rel=1,rel=1)", "rel is given 3 times", "give it once"),
        ("AP(rel=-1)", "its rel is -1", f"rel {ONE_OR_MORE}"),
        ("AP(rel='2')", "its rel is '2'", f"rel {ONE_OR_MORE}"),
        ("nDCGp(p=101)", "its p is 101", "p is a whole number from 1 to 100"),
        ("nDCG(gains={1:-5})@5", "its gains is {1: -5}", "a number for each grade"),
        ("Bpref@5", "Bpref has no parameter cutoff", "it has rel"),
        ("P.5,", "'5,' is not what trec_eval's P takes", "as in P.5,10, 1 or more"),
        ("P.1.5", "'1.5' is not what trec_eval's P takes", "as in P.5,10"),
        ("relative_P.0", "'0' is not what trec_eval's relative_P takes", "1 or more"),
        ("utility.1=3", "'1=3' is not what trec_eval's utility takes", "as in utility.1,-1,0,0"),
    ],
)
def test_a_message_names_the_parameter_and_what_it_may_be(
    name: str, found: str, remedy: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        parse_measures([name])
    assert caught.value.found.startswith(f"measure {name!r} is not valid: {found}")
    assert remedy is None or remedy in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "measure",
    [
        P @ 0, P @ -1, P(judged_only=True) @ 0, SetF(beta=math.nan), SetF(beta=math.inf),
        IPrec @ math.nan, AP(rel="1"), AP(level=1), P(rel=-1) @ 5,
    ],
)  # fmt: skip
def test_a_measure_made_in_python_does_not_reach_trec_eval_with_them(
    measure: ir_measures.Measure,
) -> None:
    with pytest.raises(InputError, match="is not valid"):
        irtoolkit.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, measures={"asked": measure})

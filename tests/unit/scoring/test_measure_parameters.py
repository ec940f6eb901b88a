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

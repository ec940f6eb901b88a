"""Measures by trec_eval's names, and near misses."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures import AP, P, R, nDCG

from irtoolkit.base.errors import InputError
from irtoolkit.measures.gain import G, binG
from irtoolkit.measures.gmap import GMBpref
from irtoolkit.measures.ndcg_points import RnDCG, nDCGrel
from irtoolkit.measures.precision_levels import IPrecAvg
from irtoolkit.measures.rcap import RCap
from irtoolkit.measures.utility import Utility
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.measure_names import not_computed, trec_measures


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("map", {"map": AP}),
        ("ndcg", {"ndcg": nDCG}),
        ("ndcg_cut.10", {"ndcg_cut_10": nDCG @ 10}),
        ("P.5,10", {"P_5": P @ 5, "P_10": P @ 10}),
        ("recall.100", {"recall_100": R @ 100}),
        ("set_F.0.5", {"set_F_0.50": ir_measures.SetF(beta=0.5)}),
        ("gm_bpref", {"gm_bpref": GMBpref}),
        ("binG", {"binG": binG}),
        ("G", {"G": G}),
        ("G.1=3.5,2=9,0=-1", {"G_1=3.5,2=9,0=-1": G(gains={1: 3.5, 2: 9.0, 0: -1.0})}),
        ("Rndcg_2=9", {"Rndcg_2=9": RnDCG(gains={2: 9.0})}),
        ("ndcg_rel.1=.5", {"ndcg_rel_1=.5": nDCGrel(gains={1: 0.5})}),
        ("11pt_avg", {"11pt_avg": IPrecAvg}),
        ("utility", {"utility": Utility}),
        ("utility.1,-1,-.5,0", {"utility_1,-1,-.5,0": Utility(weights="1,-1,-.5,0")}),
        ("relative_P.5,10", {"relative_P_5": RCap @ 5, "relative_P_10": RCap @ 10}),
    ],
)
def test_a_name_of_trec_eval_is_shown_as_trec_eval_shows_it(
    name: str, measures: dict[str, ir_measures.Measure]
) -> None:
    assert trec_measures(name) == measures
    assert parse_measures(name) == measures


def test_a_name_without_parameters_has_those_of_trec_eval() -> None:
    assert list(trec_measures("success") or {}) == ["success_1", "success_5", "success_10"]
    assert len(trec_measures("P") or {}) == 9
    multiples = trec_measures("Rprec_mult") or {}
    assert list(multiples)[::9] == ["Rprec_mult_0.20", "Rprec_mult_2.00"]
    assert len(multiples) == 10


def test_official_has_its_measures_and_says_what_lacks() -> None:
    found = trec_measures("official") or {}
    assert {"map", "P_5", "bpref", "iprec_at_recall_0.00", "num_ret"} <= found.keys()
    assert not_computed("official") == []
    assert not_computed("set") == []
    assert not_computed("all_trec") == ["relstring"]
    assert not_computed("map") == []


@pytest.mark.parametrize(
    "name",
    [
        "map.5",
        "nDCG@10",
        "binG_1",
        "P.5=3",
        "Rndcg.1=3=4",
        "11pt_avg.-0.5",
        "Rprec_mult.0.5,-1",
        "relative_P.0,5",
        "P.5.5",
        "",
    ],
)
def test_what_trec_eval_does_not_name_so_has_no_measures(name: str) -> None:
    assert trec_measures(name) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ndgc@10", "did you mean nDCG@10"),
        ("ndcg_ctu.10", "did you mean ndcg_cut.10"),
        ("recal@100", "did you mean R@100"),
        ("reciprank", "did you mean recip_rank"),
        ("relstring", "is not computed here"),
        ("utilty@5", "did you mean Utility"),
        ("11pt_agv.5", r"did you mean 11pt_avg\?"),
        ("Rprec_mutl@0.5", "did you mean Rprec_mult"),
        ("xyz", "see ir-measur.es"),
    ],
)
def test_near_misses(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_measures(name)

"""Measures by trec_eval's names, and near misses."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures import AP, RR, P, R, nDCG

import irtoolkit
from irtoolkit.base.errors import InputError
from irtoolkit.measures.gain import G, binG
from irtoolkit.measures.gmap import GMAP, GMBpref
from irtoolkit.measures.ndcg_points import RnDCG, nDCGrel
from irtoolkit.measures.precision_levels import IPrecAvg, RprecMult
from irtoolkit.measures.rcap import RCap
from irtoolkit.measures.utility import NumNonrelJudgedRet, Utility
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.measure_names import not_computed, trec_measures


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("map", {"map": AP}),
        ("recip_rank", {"recip_rank": RR}),
        ("ndcg", {"ndcg": nDCG}),
        ("ndcg_cut.10", {"ndcg_cut_10": nDCG @ 10}),
        ("ndcg_cut_10", {"ndcg_cut_10": nDCG @ 10}),
        ("P.5,10", {"P_5": P @ 5, "P_10": P @ 10}),
        ("recall.100", {"recall_100": R @ 100}),
        ("iprec_at_recall.0.1", {"iprec_at_recall_0.10": ir_measures.IPrec @ 0.1}),
        ("set_F.0.5", {"set_F_0.50": ir_measures.SetF(beta=0.5)}),
        ("gm_map", {"gm_map": GMAP}),
        ("gm_bpref", {"gm_bpref": GMBpref}),
        ("binG", {"binG": binG}),
        ("num_nonrel_judged_ret", {"num_nonrel_judged_ret": NumNonrelJudgedRet}),
        ("G", {"G": G}),
        ("G.1=3.5,2=9,0=-1", {"G_1=3.5,2=9,0=-1": G(gains={1: 3.5, 2: 9.0, 0: -1.0})}),
        ("Rndcg", {"Rndcg": RnDCG}),
        ("Rndcg_2=9", {"Rndcg_2=9": RnDCG(gains={2: 9.0})}),
        ("ndcg_rel", {"ndcg_rel": nDCGrel}),
        ("ndcg_rel.1=.5", {"ndcg_rel_1=.5": nDCGrel(gains={1: 0.5})}),
        ("11pt_avg", {"11pt_avg": IPrecAvg}),
        ("11pt_avg.0.2,0.5", {"11pt_avg_0.2,0.5": IPrecAvg(recalls="0.2,0.5")}),
        ("utility", {"utility": Utility}),
        ("utility.1,-1,-.5,0", {"utility_1,-1,-.5,0": Utility(weights="1,-1,-.5,0")}),
        (
            "Rprec_mult.0.5,3",
            {"Rprec_mult_0.50": RprecMult @ 0.5, "Rprec_mult_3.00": RprecMult @ 3.0},
        ),
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
        "P.x",
        "nDCG@10",
        "relstring",
        "gm_bpref.5",
        "binG_1",
        "P.5,-3",
        "P.5=3",
        "G.1",
        "G.x=1",
        "Rndcg.1=3=4",
        "ndcg_rel.-1=3",
        "11pt_avg.-0.5",
        "utility.1=3",
        "Rprec_mult.0",
        "Rprec_mult.0.5,-1",
        "relative_P.5.5",
        "relative_P.0,5",
        "relative_P.x",
        "P.",
        "P.5.5",
        "runid",
        "",
    ],
)
def test_what_trec_eval_does_not_name_so_has_no_measures(name: str) -> None:
    assert trec_measures(name) is None


def test_a_name_of_ir_measures_keeps_its_meaning() -> None:
    assert parse_measures("Rprec infAP AP") == {
        "Rprec": ir_measures.Rprec, "infAP": ir_measures.infAP, "AP": AP,
    }  # fmt: skip


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


def test_python_takes_them_too() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    scores = irtoolkit.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, measures="recip_rank P.1,2")
    assert scores.figures()["run"] == {"recip_rank": 0.5, "P_1": 0.0, "P_2": 0.5}

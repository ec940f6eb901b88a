"""Measures by trec_eval's names, and near misses."""

from __future__ import annotations

import ir_measures
import pytest
from ir_measures import AP, RR, P, R, nDCG

import irtoolkit
from irtoolkit.base.errors import InputError
from irtoolkit.measures.gmap import GMAP
from irtoolkit.measures.rcap import RCap
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


def test_official_has_its_measures_and_says_what_lacks() -> None:
    found = trec_measures("official") or {}
    assert {"map", "P_5", "bpref", "iprec_at_recall_0.00", "num_ret"} <= found.keys()
    assert not_computed("official") == []
    assert not_computed("set") == ["utility"]
    assert not_computed("map") == []


@pytest.mark.parametrize(
    "name",
    [
        "map.5",
        "P.x",
        "nDCG@10",
        "gm_bpref",
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
        ("ndcg@10", "did you mean nDCG@10"),
        ("ndcg_ctu.10", "did you mean ndcg_cut.10"),
        ("recall@100", "did you mean R@100"),
        ("reciprank", "did you mean recip_rank"),
        ("gm_bpref", "is not computed here"),
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

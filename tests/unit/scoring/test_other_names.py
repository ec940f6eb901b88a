"""Names of ranx's measures, other capitals, and lists with commas."""

from __future__ import annotations

import ir_measures
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.evaluation import parse_measures


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("ndcg@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("hit_rate@5", "Success@5"),
        ("Hit_Rate@5", "Success@5"),
        ("r-precision", "Rprec"),
        ("ndcg-burges@10", "nDCG(dcg='exp-log2')@10"),
        ("ndcg_burges", "nDCG(dcg='exp-log2')"),
        ("precision@5", "P@5"),
        ("recall@100", "R@100"),
        ("p@10", "P@10"),
        ("mrr@10", "RR@10"),
        ("map@100", "AP@100"),
        ("ap(rel=2)@100", "AP(rel=2)@100"),
        ("rbp.95", "RBP(p=0.95)"),
        ("ndcgp(p=20)", "nDCGp(p=20)"),
    ],
)
def test_names(name: str, ours: str) -> None:
    assert parse_measures(name) == {name: ir_measures.parse_measure(ours)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("map,ndcg", ["map", "ndcg"]),
        ("nDCG@10, AP", ["nDCG@10", "AP"]),
        ("AP(rel=2),nDCG(dcg='exp-log2')@10", ["AP(rel=2)", "nDCG(dcg='exp-log2')@10"]),
        ("P.5,10", ["P_5", "P_10"]),
        ("P.5,10,map,11pt_avg", ["P_5", "P_10", "map", "11pt_avg"]),
        (["map,ndcg", "RR"], ["map", "ndcg", "RR"]),
    ],
)
def test_lists(text: str | list[str], names: list[str]) -> None:
    assert list(parse_measures(text)) == names


@pytest.mark.parametrize("name", ["f1@5", "dcg@10", "ap(rel=1,rel=2)", "p", "hits@5", "P.5,"])
def test_what_is_no_measure(name: str) -> None:
    with pytest.raises(InputError):
        parse_measures(name)

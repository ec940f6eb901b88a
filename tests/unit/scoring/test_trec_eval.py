"""Scores as trec_eval prints them."""

from __future__ import annotations

from irtoolkit.scoring.score import score
from irtoolkit.scoring.trec_eval import trec_eval_lines


def test_geometric_means_are_printed_for_all_only_and_counts_as_whole_numbers() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
    names = "map gm_map gm_bpref num_nonrel_judged_ret"
    rows = [line.split("\t") for line in trec_eval_lines(score(qrels, run, names))]
    assert [(name.strip(), *rest) for name, *rest in rows] == [
        ("map", "q1", "0.5000"),
        ("num_nonrel_judged_ret", "q1", "1"),
        ("map", "q2", "1.0000"),
        ("num_nonrel_judged_ret", "q2", "0"),
        ("runid", "all", "irtoolkit"),
        ("map", "all", "0.7500"),
        ("gm_map", "all", "0.7071"),
        # No relevant document of q1 is above the one that is not relevant.
        ("gm_bpref", "all", "0.0032"),
        ("num_nonrel_judged_ret", "all", "1"),
    ]

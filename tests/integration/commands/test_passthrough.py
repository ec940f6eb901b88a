"""The commands of ir_datasets and ir_measures, which see what is ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import ir_datasets
import ir_measures
import pytest

from tests.conftest import ROOT, Answer

Command = Callable[..., Answer]

RUN = ROOT / "runs/reference/csfcube-sample.fabs_bm25.run"


def test_ir_datasets_exports_our_collections(irtoolkit: Command) -> None:
    answer = irtoolkit("ir_datasets", "export", "csfcube/sample", "qrels", "--format", "tsv")
    assert answer.status == 0
    rows = [line.split("\t") for line in answer.out.splitlines()]
    qrels = list(ir_datasets.load("csfcube/sample").qrels_iter())
    assert [(row[0], row[1], int(row[2])) for row in rows] == [
        (qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in qrels
    ]


def test_ir_datasets_lists_our_collections(irtoolkit: Command) -> None:
    listed = irtoolkit("ir_datasets", "list").out.split()
    assert {"csfcube/method", "relic/sample/test", "antique/test"} <= set(listed)


def test_ir_datasets_looks_documents_up(irtoolkit: Command) -> None:
    doc = next(iter(ir_datasets.load("csfcube/sample").docs_iter()))
    answer = irtoolkit("ir_datasets", "lookup", "csfcube/sample", doc.doc_id, "--fields", "title")
    assert answer.out.strip() == doc.title


def test_ir_measures_computes_our_measures(irtoolkit: Command) -> None:
    names = ["nDCGp(p=20)", "RPlast(rel=2)", "nDCG@10"]
    answer = irtoolkit("ir_measures", "csfcube/sample", RUN, *names, "--places", "9")
    assert answer.status == 0
    shown = dict(line.split("\t") for line in answer.out.splitlines())
    measures = [ir_measures.parse_measure(name) for name in names]
    qrels = ir_datasets.load("csfcube/sample").qrels_iter()
    expected = ir_measures.calc_aggregate(measures, qrels, ir_measures.read_trec_run(str(RUN)))
    assert {name: float(value) for name, value in shown.items()} == pytest.approx(
        {str(measure): value for measure, value in expected.items()}, abs=1e-9
    )


def test_options_before_and_after_reach_ir_measures(irtoolkit: Command) -> None:
    qrels = ROOT / "qrels/csfcube-sample.qrels"
    first = irtoolkit("ir_measures", "-q", "-n", "-p", "3", qrels, RUN, "AP RR")
    last = irtoolkit("ir_measures", qrels, RUN, "AP RR", "--by_query", "--no_summary", "-p", "3")
    assert first.status == last.status == 0
    assert first.out == last.out
    # Six queries, two measures, and no line for all of them.
    assert len(first.out.splitlines()) == 12


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["ir_datasets", "export", "--help"], "usage: ir_datasets export"),
        (["ir_measures", "--help"], "usage: irtoolkit ir_measures"),
        (["ir_measures", "-h"], "--by_query"),
    ],
)
def test_help_is_theirs(irtoolkit: Command, args: list[str], found: str) -> None:
    answer = irtoolkit(*args)
    assert answer.status == 0
    assert found in answer.out


@pytest.mark.parametrize("args", [[], ["--help"], ["nonsense"], ["--debug"]])
def test_ir_datasets_says_what_it_takes(irtoolkit: Command, args: list[str]) -> None:
    answer = irtoolkit("ir_datasets", *args)
    assert answer.status == 1
    assert answer.err.startswith("Usage: ir_datasets {")


def test_their_errors_are_errors(irtoolkit: Command, tmp_path: Path) -> None:
    before = list(sys.argv)
    missing = irtoolkit("ir_measures", "csfcube/sample", tmp_path / "none.run", "AP")
    assert missing.status == 2
    assert "none.run" in missing.err
    unknown = irtoolkit("ir_measures", "csfcube/sampel", RUN, "AP")
    assert unknown.status != 0
    assert "csfcube/sampel not found" in unknown.err
    unknown = irtoolkit("ir_measures", "csfcube/sample", RUN, "nDCGq")
    assert unknown.status != 0
    assert "unknown measure: nDCGq" in unknown.err
    assert sys.argv == before


def test_options_of_our_own_stay_before_the_name(irtoolkit: Command) -> None:
    answer = irtoolkit("--version", "ir_datasets", "list")
    assert answer.out.startswith("irtoolkit ")


def test_a_folder_of_a_collection_is_scored_by_eval(irtoolkit: Command, tmp_path: Path) -> None:
    answer = irtoolkit("ir_measures", tmp_path, RUN, "nDCG@10")
    assert answer.status == 2
    assert f"{tmp_path}: ir_measures reads no folder" in answer.err
    assert "irtoolkit eval FOLDER RUN" in answer.err

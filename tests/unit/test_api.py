"""The front door: everything in memory, plain objects everywhere, one clear error for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.systems import System
from irtoolkit.runs.provenance import read_metadata
from tests.unit.reports.test_page import data_in, read

DOCS = {"a": "the cat sat on a mat", "b": "two dogs ran to the sea", "c": "a fish swims", "d": ""}
QUERIES = {"1": "a cat", "2": "dogs at sea"}
QRELS = {"1": {"a": 1}, "2": {"b": 2, "c": 1}}
RUN = {"1": {"a": 2.0, "c": 1.0}, "2": {"c": 3.0, "b": 1.5}}


class Row(NamedTuple):
    """A row as ir_measures has it."""

    query_id: str
    doc_id: str
    score: float


class Judgment(NamedTuple):
    """A judgment as ir_datasets has it."""

    query_id: str
    doc_id: str
    relevance: int


def rows() -> list[tuple[str, str, float]]:
    return [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]


@pytest.fixture
def data() -> ir.Dataset:
    return ir.load(DOCS, queries=QUERIES, qrels=QRELS)


# -- what the shell does ------------------------------------------------------------------------


def test_a_run_is_what_the_shell_writes(tmp_path: Path, irtoolkit: Callable[..., Any]) -> None:
    answer = irtoolkit(
        "retrieve", "csfcube/sample", "bm25", "-o", tmp_path / "shell.run", "--set", "k1=1.2"
    )
    assert answer.status == 0
    ir.retrieve("csfcube/sample", "bm25", k1=1.2).write(tmp_path / "python.run")
    ir.retrieve("csfcube/sample", "bm25", k1=1.2, output=tmp_path / "with-record.run")
    expected = (tmp_path / "shell.run").read_bytes()
    assert (tmp_path / "python.run").read_bytes() == expected
    assert (tmp_path / "with-record.run").read_bytes() == expected
    assert (tmp_path / "with-record.run.ir-metadata.yml").is_file()


def test_numbers_of_numpy_are_written_as_any_others(tmp_path: Path) -> None:
    """The record beside a run and the log of a search are YAML and JSON, which know Python's alone."""
    depth: Any = np.int64(5)
    for name, given in (("own", 5), ("numpy", depth)):
        ir.retrieve("relic/sample/val", "bm25", depth=given, output=tmp_path / f"{name}.run")
    assert (tmp_path / "own.run").read_bytes() == (tmp_path / "numpy.run").read_bytes()
    (own, numpys) = (read_metadata(tmp_path / f"{name}.run") for name in ("own", "numpy"))
    assert own is not None
    assert numpys is not None
    assert numpys["method"] == own["method"]
    assert numpys["irtoolkit"]["depth"] == 5
    runs = [ir.retrieve("relic/sample/val", name, depth=50) for name in ("bm25", "tfidf")]
    settings: Any = {"methods": np.array(["rrf"]), "seed": np.int32(3)}
    ir.tune_fusion(
        "relic/sample/val",
        *runs,
        grid={"k": np.array([3, 60])},
        **settings,
        log=tmp_path / "np.json",
    )
    ir.tune_fusion(
        "relic/sample/val",
        *runs,
        grid={"k": [3, 60]},
        methods=["rrf"],
        seed=3,
        log=tmp_path / "own.json",
    )
    assert (tmp_path / "np.json").read_bytes() == (tmp_path / "own.json").read_bytes()


def test_rerank_and_fuse(data: ir.Dataset) -> None:
    first = ir.retrieve(data, "bm25", fill=True)
    again = ir.rerank(data, first, "ql", depth=2)
    assert [len(again.ranking(query)) for query in QUERIES] == [2, 2]
    kept = ir.rerank(data, RUN, "ql", depth=1, keep_rest=True)
    assert {row.doc_id for row in kept.ranking("1")} == {"a", "c"}
    both = ir.fuse(first, RUN, again)
    assert both.tag == "rrf"
    assert ir.fuse([first, again], method="combsum").tag == "combsum"


def test_compare_is_a_test_against_the_first(data: ir.Dataset) -> None:
    found = ir.compare("csfcube/sample", ir.retrieve("csfcube/sample", "random"),
                       ir.retrieve("csfcube/sample", "bm25"), test="student")  # fmt: skip
    assert (found.baseline, found.measure) == ("random", "nDCGp(p=20)")
    assert [row.system for row in found] == ["random", "bm25"]
    assert found[0].p_value is None
    assert found[1].p_value is not None
    assert "baseline random" in str(found)


def test_a_report_of_runs_in_memory(data: ir.Dataset, tmp_path: Path) -> None:
    runs = ir.retrieve(data, "bm25"), ir.retrieve(data, "random")
    files = ir.report(data, *runs, output=[tmp_path / "r.html", tmp_path / "t.md"])
    assert files == [tmp_path / "r.html", tmp_path / "t.md"]
    (entry, *_) = data_in(read(files[0].read_text("utf-8")))["entries"]
    assert "two dogs ran to the sea" in ["".join(doc["pieces"]) for doc in entry["docs"].values()]
    assert "random" in files[1].read_text("utf-8")


# -- plain objects --------------------------------------------------------------------------------


RUNS: dict[str, Callable[[], Any]] = {
    "dict": lambda: RUN,
    "Run": lambda: ir.Run.of(RUN),
    "tuples": rows,
    "generator": lambda: iter(rows()),
    "records": lambda: [Row(*row) for row in rows()],
    "ir_measures": lambda: [ir_measures.ScoredDoc(*row) for row in rows()],
    "pyterrier frame": lambda: pd.DataFrame(rows(), columns=["qid", "docno", "score"]),
    "ir_measures frame": lambda: pd.DataFrame(rows(), columns=["query_id", "doc_id", "score"]),
    "numbers as ids": lambda: {int(query): docs for query, docs in RUN.items()},
    "float32": lambda: {q: {d: np.float32(s) for d, s in docs.items()} for q, docs in RUN.items()},
}
JUDGED: dict[str, Callable[[], Any]] = {
    "dict": lambda: QRELS,
    "Qrels": lambda: ir.Qrels.of(QRELS),
    "tuples": lambda: [(q, d, grade) for q, docs in QRELS.items() for d, grade in docs.items()],
    "records": lambda: [Judgment(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()],
    "ir_measures": lambda: [
        ir_measures.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()
    ],
    "frame": lambda: pd.DataFrame(
        [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()],
        columns=["query_id", "doc_id", "relevance"],
    ),
}


@pytest.mark.parametrize("kind", RUNS)
def test_runs_of_every_kind_score_alike(data: ir.Dataset, kind: str) -> None:
    expected = {"nDCG@10": 0.9300, "RR": 1.0}
    scores = ir.evaluate(data, RUNS[kind](), measures="nDCG@10 RR", names=["mine"])
    figures = scores.figures()["mine"]
    by_hand = (1 + (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))) / 2
    assert figures["nDCG@10"] == pytest.approx(by_hand)
    assert figures["RR"] == expected["RR"]
    assert ir.compare(data, RUNS[kind](), RUN, measure="RR", names=["x", "y"])[1].difference == 0


@pytest.mark.parametrize("kind", JUDGED)
def test_judgments_of_every_kind_score_alike(kind: str) -> None:
    scores = ir.evaluate(JUDGED[kind](), RUN, measures=["RR", ir_measures.AP @ 1])
    assert scores.figures()["run"] == {"RR": 1.0, "AP@1": pytest.approx(0.75)}


def test_runs_and_judgments_of_ranx(data: ir.Dataset) -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    run, qrels = ranx.Run(RUN, name="theirs"), ranx.Qrels(QRELS)
    assert ir.evaluate(qrels, run, measures="RR").figures() == {"theirs": {"RR": 1.0}}
    assert ir.fuse(run, RUN).ranking("1")[0].doc_id == "a"


def test_scores_are_rows_figures_and_frames(data: ir.Dataset) -> None:
    scores = ir.evaluate(data, RUN, measures="RR P@1")
    assert list(scores.per_query()) == [
        ("run", "1", "RR", 1.0), ("run", "2", "RR", 1.0),
        ("run", "1", "P@1", 1.0), ("run", "2", "P@1", 1.0),
    ]  # fmt: skip
    assert scores.to_frame().loc["run", "RR"] == 1.0
    facets = ir.evaluate("csfcube/sample", ir.retrieve("csfcube/sample", "bm25")).by("facet")
    assert list(facets["bm25"]) == ["background", "method", "result"]


# -- texts and indexes -----------------------------------------------------------------------------


TEXTS: dict[str, Callable[[], Any]] = {
    "dict": lambda: DOCS,
    "pairs": lambda: list(DOCS.items()),
    "generator": lambda: iter(DOCS.items()),
    "dicts": lambda: [{"_id": name, "text": text} for name, text in DOCS.items()],
    "frame": lambda: pd.DataFrame({"docno": list(DOCS), "text": list(DOCS.values())}),
    "dataset": lambda: ir.load(DOCS),
    "records": lambda: list(ir.load(DOCS).docs_iter()),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_of_every_kind_are_searched(kind: str) -> None:
    index = ir.index(TEXTS[kind](), "bm25")
    hits = index.search("which dogs?", k=10)
    assert (len(index), hits.doc_ids, hits.texts) == (4, ["b"], ["two dogs ran to the sea"])
    assert hits[0].rank == 1
    assert hits[0].score > 0


def test_an_index_searches_the_whole_corpus_of_a_dataset_with_pools() -> None:
    index = ir.index("csfcube/sample", "bm25", doc="title+abstract")
    data = ir.load("csfcube/sample")
    assert len(index) == data.docs_count()
    for doc in data.docs_iter():
        assert index.search(doc.title, k=1).doc_ids == [doc.doc_id]


# -- bad input -------------------------------------------------------------------------------------


def _used(items: list[Any]) -> Any:
    used = iter(items)
    list(used)
    return used


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a run's generator, used": (
        lambda: ir.evaluate(QRELS, _used(rows())), "no rows .*a generator can be read once"),
    "documents' generator, used": (
        lambda: ir.index(_used(["a"])), "no documents .*a generator can be read once"),
    "ids twice": (lambda: ir.index(["a", "b"], ids=["1", "1"]), "document 1 occurs twice"),
    "no queries": (lambda: ir.retrieve(ir.load(DOCS)), "has no queries"),
    "no judgments": (lambda: ir.evaluate(ir.load(DOCS, queries=QUERIES), RUN), "has no qrels"),
    "a query without text": (lambda: ir.load(DOCS, queries={"1": " "}), "query 1 has no text"),
    "columns": (lambda: ir.index(pd.DataFrame({"x": [1]})), "no column doc_id or docno .*its columns are x"),
    "a run's columns": (lambda: ir.evaluate(QRELS, pd.DataFrame({"x": [1]})), "columns? x|column"),
    "no text": (lambda: ir.index(["a", None]), "item 1 of the documents is None"),
    "a missing text": (
        lambda: ir.index(pd.DataFrame({"id": ["1"], "text": [np.nan]})), "text of document 1"),
    "settings of a System": (
        lambda: ir.retrieve("csfcube/sample", System.make("x", "bm25", {}), k1=1), "made already"),
    "one run to compare": (lambda: ir.compare(QRELS, RUN), "one run cannot be compared"),
    "a run as the dataset": (lambda: ir.evaluate(ir.Run.of(RUN), RUN), "a run, and judgments are expected"),
    "runs alone": (lambda: ir.compare(ir.Run.of(RUN), ir.Run.of(RUN)), "a run, and judgments are expected"),
    "a run as judgments": (lambda: ir.load(DOCS, queries=QUERIES, qrels=ir.Run.of(RUN)), "a run, and judgments"),
    "a system as the run": (lambda: ir.evaluate(QRELS, "bm25"), "bm25 is a system, and runs are scored"),
    "a measure as the run": (
        lambda: ir.evaluate(QRELS, RUN, "nDCG@10"), "nDCG@10 is a measure, and runs .*measures=\\["),
    "a measure to compare by": (lambda: ir.compare(QRELS, RUN, RUN, "AP"), "AP is a measure, and runs"),
    "trec_eval's measure": (lambda: ir.evaluate(QRELS, RUN, "ndcg_cut.10"), "ndcg_cut.10 is a measure"),
    "queries of a system": (
        lambda: ir.retrieve(DOCS, queries=QUERIES), "no setting 'queries' .*ir.load.DOCUMENTS, queries="),
    "topics of a system": (
        lambda: ir.retrieve(DOCS, topics="topics.tsv"), "no setting 'topics' .*ir.load.DOCUMENTS, queries="),
    "judgments of a system": (
        lambda: ir.retrieve(DOCS, qrels=QRELS), "no setting 'qrels' .*ir.load.DOCUMENTS, qrels="),
    "queries by position": (
        lambda: ir.load(DOCS, QUERIES), "too many positional arguments .after data, give arguments by name: queries=, qrels="),  # type: ignore[call-arg]
    "top_k of a search": (
        lambda: ir.index(["a"]).search("a", top_k=3), "argument 'top_k' .did you mean k"),  # type: ignore[call-arg]
    "depth of a search": (
        lambda: ir.index(["a"]).search_many(["a"], hits=3), "argument 'hits' .did you mean k"),  # type: ignore[call-arg]
    "Pyserini's k": (lambda: ir.retrieve("csfcube/sample", k=5), "no setting 'k' .did you mean depth"),
    "PyTerrier's num_results": (
        lambda: ir.rerank("csfcube/sample", RUN, "ql", num_results=5), "no setting 'num_results' .did you mean depth"),
    "a baseline": (lambda: ir.compare(QRELS, RUN, RUN, baseline="z"), "baseline z"),
    "strange candidates": (
        lambda: ir.load(DOCS, queries=QUERIES, candidates={"1": ["z"]}), "candidate z of query 1"),
    "a report's option": (
        lambda: ir.report(QRELS, RUN, output="x.html", colour="red"), "no option 'colour'"),
}  # fmt: skip


ONE, TWO = {"1": {"a": 2.0, "b": 1.0}}, {"1": {"a": 1}}


def test_ids_may_be_any_values_that_are_counted_once() -> None:
    data = ir.load(
        ["a", "b"], ids=(number for number in (1, 2)), queries={"q": "a"}, candidates={"q": {"2"}}
    )
    assert [row.doc_id for row in ir.retrieve(data, progress=False)] == ["2"]


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_error(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(InputError, match=message):
        call()


def test_an_id_with_a_space_ranks_in_memory_and_is_refused_by_trec_text(tmp_path: Path) -> None:
    run = ir.retrieve(ir.load({"a b": "cat"}, queries={"1": "cat"}))
    assert run.ranking("1")[0].doc_id == "a b"
    with pytest.raises(InputError, match="cannot be written as one field"):
        run.write(tmp_path / "x.run")
    assert not list(tmp_path.iterdir())


# -- notebooks and imports --------------------------------------------------------------------------


def test_html_is_escaped() -> None:
    data = ir.load({"<b>": "<i>cat</i>"}, queries={"q": "cat"}, qrels={"q": {"<b>": 1}}, name="<u>")
    run = ir.retrieve(data, "bm25")
    shown = [run, ir.evaluate(data, run), ir.compare(data, run, RUN | {"q": {"<b>": 1.0}}),
             ir.index(data).search("cat")]  # fmt: skip
    for value in shown:
        page = value._repr_html_()
        assert "<table" in page
        assert not any(tag in page for tag in ("<b>", "<i>", "<u>"))


def test_ranking_loads_neither_training_nor_experiments_nor_torch() -> None:
    code = """
import sys, json
import irtoolkit
run = irtoolkit.retrieve("csfcube/sample", "bm25")
irtoolkit.index(["a text", "another"]).search("another")
names = ("torch", "pandas", "sklearn", "transformers", "irtoolkit.training", "irtoolkit.papers",
         "irtoolkit.reports", "matplotlib")
print(json.dumps([len(run), [name for name in names if name in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[1] == []


def test_every_name_of_the_front_door_is_there() -> None:
    for name in ir.__all__:
        assert getattr(ir, name) is not None
        assert name in dir(ir)
    with pytest.raises(AttributeError, match="no attribute 'retreive'"):
        ir.retreive  # noqa: B018

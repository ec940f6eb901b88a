"""Anserini, which Pyserini runs, does the regression of an exported folder and gets our figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import irtoolkit as ir
from irtoolkit.retrievers.lucene import java
from tests.lucene import with_java


def anserini(program: str, *options: str) -> None:
    """Runs a program of Anserini as the command line of Pyserini does."""
    java.java_class(f"io.anserini.{program}").main(list(options))


def run_regression(folder: Path, name: str) -> Path:
    """The run that the YAML of an exported folder describes."""
    told: dict[str, Any] = yaml.safe_load((folder / f"{name}.yaml").read_text("utf-8"))
    (model,), (topics,) = told["models"], told["topics"]
    index, run = folder / told["index_path"], folder / "run.txt"
    anserini(
        "index.IndexCollection",
        *("-collection", told["collection_class"], "-generator", told["generator_class"]),
        *("-input", str(folder / told["corpus_path"]), "-index", str(index)),
        *("-threads", str(told["index_threads"]), *told["index_options"].split()),
    )  # fmt: skip
    anserini(
        "search.SearchCollection",
        *("-index", str(index), "-topics", str(folder / topics["id"])),
        *("-topicReader", told["topic_reader"], "-output", str(run), *model["params"].split()),
    )  # fmt: skip
    return run


@with_java
@pytest.mark.parametrize("dataset", ["csfcube/sample", "relic/sample/val"])
def test_the_regression_gives_our_figures(tmp_path: Path, dataset: str) -> None:
    folder = ir.export(dataset, "pyserini", tmp_path / "out")
    run = run_regression(folder, dataset.replace("/", "-"))
    ours = ir.retrieve(dataset, "lucene", candidates="corpus", depth=1000, progress=False)
    found = ir.evaluate(str(folder / "qrels.txt"), [str(run), ours], measures="nDCG@10").figures()
    theirs, own = (figures["nDCG@10"] for figures in found.values())
    assert theirs == pytest.approx(own, abs=1e-4)
    assert theirs > 0
    # Lucene returns no document without a term of the query, and rounds scores to six digits.
    scores = ours.as_dict()
    for query, ranking in ir.Run.read(run).as_dict().items():
        shared = {doc: scores[query].get(doc) for doc in ranking}
        assert sum(score is None for score in shared.values()) <= 1  # the last of equal scores
        for doc, score in shared.items():
            assert score is None or ranking[doc] == pytest.approx(score, abs=1e-4)

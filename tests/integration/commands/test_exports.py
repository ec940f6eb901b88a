"""The sample's topics, qrels and reference run, as committed, are what the commands write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, Answer
from tests.each import each

EXPORTED = (
    "relic/sample/val", "plotretrieval/sample/val", "egret/sample/dev",
    "quoter/sample/en/test", "quoter/sample/zh/test", "quoter/sample/lzh/test",
    "relic/sample/train", "plotretrieval/sample/train", "plotretrieval/sample/test", "egret/sample/train",
    *(f"quoter/sample/{lang}/{split}" for lang in ("en", "zh", "lzh") for split in ("train", "val")),
)  # fmt: skip
COMMITTED = {
    "topics/csfcube-sample.tsv": ["export", "csfcube/sample", "topics", "-o"],
    "qrels/csfcube-sample.qrels": ["export", "csfcube/sample", "qrels", "-o"],
    "runs/reference/csfcube-sample.fabs_bm25.run": [
        "retrieve", "csfcube/sample", "fabs_bm25", "-o",
    ],
    **{
        f"{what}/{name.replace('/', '-')}.{ending}": ["export", name, what, "-o"]
        for name in EXPORTED
        for what, ending in (("topics", "tsv"), ("qrels", "qrels"))
    },
}  # fmt: skip


@each("name", COMMITTED)
def test_a_committed_export_is_written_again_byte_for_byte(
    irtoolkit: Callable[..., Answer], tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    answer = irtoolkit(*COMMITTED[name], path)
    assert answer.status == 0, answer.err
    again, committed = path.read_bytes(), (ROOT / name).read_bytes()
    # Line by line first: a difference of bytes alone says little.
    assert again.decode("utf-8").splitlines() == committed.decode("utf-8").splitlines()
    assert again == committed


def test_the_committed_files_belong_together() -> None:
    topics, qrels, run = (
        [line.split("\t" if name.endswith(".tsv") else " ") for line in text.splitlines()]
        for name, text in ((name, (ROOT / name).read_text("utf-8")) for name in COMMITTED)
        if "csfcube" in name
    )
    assert {len(row) for row in topics} == {2}
    assert {len(row) for row in qrels} == {4}
    assert {len(row) for row in run} == {6}
    assert {row[0] for row in topics} == {row[0] for row in qrels} == {row[0] for row in run}
    # In the sample as in CSFCube every candidate is judged, and the run ranks each of them.
    judged = [(row[0], row[2]) for row in qrels]
    assert len(set(judged)) == len(judged)
    assert sorted(judged) == sorted((row[0], row[2]) for row in run)


def test_nothing_is_committed_that_is_not_compared() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("topics", "qrels", "runs/reference")
        for path in (ROOT / folder).iterdir()
        # The record beside a run tells of one machine and one day, and is not committed.
        if path.is_file() and path.suffix not in (".md", ".yml") and not path.name.startswith(".")
    }
    assert found == set(COMMITTED)


def test_the_reference_run_scores_alike_against_ids_and_files(
    irtoolkit: Callable[..., Answer],
) -> None:
    run = ROOT / "runs/reference/csfcube-sample.fabs_bm25.run"
    qrels = ROOT / "qrels/csfcube-sample.qrels"
    args = (run, "--measures", "nDCGp(p=20) RPlast(rel=2) AP", "--format", "csv")
    # The folds of the sample are of one size, so the mean of their means is the plain mean.
    by_id, by_file = (irtoolkit("eval", name, *args) for name in ("csfcube/sample", qrels))
    assert (by_id.status, by_file.status) == (0, 0)
    values = [
        [float(cell) for cell in answer.out.splitlines()[1].rpartition(".run,")[2].split(",")]
        for answer in (by_id, by_file)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_what_is_printed_is_utf8_whatever_the_pipe_is() -> None:
    """A pipe on Windows has the encoding of the system, in which Chinese cannot be written."""
    done = subprocess.run(
        [sys.executable, "-m", "irtoolkit", "export", "quoter/sample/zh/test", "docs"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    texts = [json.loads(line)["text"] for line in done.stdout.decode("utf-8").splitlines()]
    assert len(texts) == 33
    assert any("\u4e00" <= character <= "\u9fff" for character in texts[0])

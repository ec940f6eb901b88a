"""A file that a command reads is never written by it, however it is spelt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Answer

Command = Callable[..., Answer]
SAMPLE = "csfcube/sample"
READ = "is read and would be overwritten"


@pytest.fixture
def run(irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for system in ("bm25", "random"):
        assert irtoolkit("retrieve", SAMPLE, system, "-o", f"{system}.run").status == 0
    Path("same.html").write_bytes(Path("bm25.run").read_bytes())
    return tmp_path / "bm25.run"


@pytest.mark.parametrize(
    "words",
    [
        f"eval {SAMPLE} bm25.run --per-query bm25.run",
        f"eval {SAMPLE} bm25.run --per-query ./random/../bm25.run",
        f"eval {SAMPLE} random.run bm25.run --per-query link",
        f"report {SAMPLE} same.html random.run -o same.html",
        f"tune {SAMPLE} --runs bm25.run random.run --log bm25.run",
        "agree bm25.run random.run --differ bm25.run",
    ],
)  # fmt: skip
def test_what_is_read_stays(run: Path, irtoolkit: Command, words: str) -> None:
    Path("random").mkdir()
    Path("link").symlink_to(run)
    before = {path.name: path.read_bytes() for path in run.parent.iterdir() if path.is_file()}
    answer = irtoolkit(*words.split())
    assert (answer.status, answer.out) == (2, "")
    assert READ in answer.err
    assert len(answer.err.splitlines()) == 1
    after = {path.name: path.read_bytes() for path in run.parent.iterdir() if path.is_file()}
    assert after == before


def test_a_run_may_take_the_place_of_what_it_was_made_from(run: Path, irtoolkit: Command) -> None:
    before = run.read_bytes()
    assert irtoolkit("fuse", run, "random.run", "-o", run).status == 0
    fused = run.read_bytes()
    assert fused != before
    assert irtoolkit("rerank", SAMPLE, run, "tfidf", "-o", os.path.relpath(run)).status == 0
    assert run.read_bytes() not in (before, fused)


def test_two_results_do_not_share_a_file(run: Path, irtoolkit: Command) -> None:
    answer = irtoolkit("report", SAMPLE, run, "random.run", "-o", "same.html", "-o", "./same.html")
    assert answer.status == 2
    assert "is written twice" in answer.err


def test_an_old_result_is_replaced(run: Path, irtoolkit: Command) -> None:
    words = ("eval", SAMPLE, run, "--per-query", "values.tsv")
    assert [irtoolkit(*words).status for _ in range(2)] == [0, 0]

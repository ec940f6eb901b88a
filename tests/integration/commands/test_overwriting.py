"""A file that a command reads is never written by it, however it is spelt."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irtoolkit.cli import build_parser
from irtoolkit.commands import _overwriting
from tests.conftest import Answer

Command = Callable[..., Answer]
SAMPLE = "csfcube/sample"
# What arguments that name files may be called.
FILE = re.compile("DATASET|FILE|INDEX|KEY=VALUE$|LIST|PATH|QRELS|RECIPE|RUN|SOURCE|WHAT")
READ = "is read and would be overwritten"


@pytest.fixture
def run(irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for system in ("bm25", "random"):
        assert irtoolkit("retrieve", SAMPLE, system, "-o", f"{system}.run").status == 0
    for same in ("same.html", "same.txt"):
        Path(same).write_bytes(Path("bm25.run").read_bytes())
    return tmp_path / "bm25.run"


@pytest.mark.parametrize(
    "words",
    [
        f"eval {SAMPLE} link --per-query link",
        f"eval {SAMPLE} bm25.run --per-query ./random/../link",
        f"eval {SAMPLE} random.run bm25.run --per-query link",
        f"report {SAMPLE} same.html random.run -o same.html",
        "fuse bm25.run random.run -o bm25.run",
        "fuse random.run bm25.run -o link",
        f"fuse bm25.run random.run -o random.run --method bayesfuse --train {SAMPLE}",
        "fuse bm25.run random.run -o same.txt --learned same.txt",
        f"rerank {SAMPLE} bm25.run tfidf -o bm25.run",
        f"rerank {SAMPLE} link tfidf -o ./bm25.run",
        f"rerank {SAMPLE} random.run tfidf -o bm25.run --qrels bm25.run",
        f"retrieve {SAMPLE} bm25 -o bm25.run --topics bm25.run",
        f"tune {SAMPLE} --runs link random.run --log link",
        f"tune {SAMPLE} --runs bm25.run random.run -o bm25.run",
        f"submit {SAMPLE} bm25.run -o bm25.run --form trec",
        f"submit {SAMPLE} bm25.run -o same.txt --form trec --metadata beside --about same.txt",
        "extract examples link random.run -o link",
        "agree bm25.run link -o link",
        "analyse csfcube-agreement bm25.run --sheets random.run --sheet random.run",
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


def test_other_names_of_a_file_are_not_the_file(run: Path, irtoolkit: Command) -> None:
    """A file with two names keeps the one that is not replaced; a tag or a system is no file."""
    os.link(run, "linked.run")
    before = run.read_bytes()
    assert irtoolkit("fuse", run, "random.run", "-o", "linked.run").status == 0
    assert run.read_bytes() == before != Path("linked.run").read_bytes()
    for name in ("tag", "rrf"):
        words = ("fuse", run, "random.run", "-o", name, "--tag", "tag", "--method", "rrf")
        assert [irtoolkit(*words).status for _ in range(2)] == [0, 0]
    assert [irtoolkit("retrieve", SAMPLE, "bm25", "-o", "bm25").status for _ in range(2)] == [0, 0]
    assert [irtoolkit("export", SAMPLE, "qrels", "-o", "qrels").status for _ in range(2)] == [0, 0]


def test_a_name_in_another_case_may_be_the_file(
    run: Path, irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems find a file by both names; a second link stands for that here."""
    Path("BM25.run").symlink_to(run)
    monkeypatch.setattr(_overwriting, "same_place", os.fspath)
    answer = irtoolkit("fuse", run, "random.run", "-o", "BM25.run")
    assert (answer.status, READ in answer.err) == (2, True)


def test_a_url_is_not_overwritten(irtoolkit: Command, tmp_path: Path) -> None:
    url = "memory://overwritten/a.run"
    pairs = [((url, "b.run"), url), ((tmp_path / "a.run", "b.run"), (tmp_path / "a.run").as_uri())]
    (tmp_path / "a.run").write_text("q 0 d 1 1 t\n")
    for runs, output in pairs:
        answer = irtoolkit("fuse", *runs, "-o", output)
        assert (answer.status, READ in answer.err) == (2, True), answer.err


def test_the_files_of_a_registered_collection_stay(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "docs.jsonl").write_text('{"_id": "d1", "text": "a whale"}\n')
    (folder / "queries.tsv").write_text("q1\twhale\n")
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    assert irtoolkit("register", "kept-files", folder).status == 0
    for words in (
        ("export", "kept-files", "qrels", "-o", folder / "qrels.txt"),
        ("retrieve", "kept-files", "bm25", "-o", folder / "queries.tsv"),
    ):
        answer = irtoolkit(*words)
        assert (answer.status, READ in answer.err) == (2, True), answer.err
    assert irtoolkit("export", "kept-files", "qrels", "-o", folder / "copy.txt").status == 0


def test_two_results_do_not_share_a_file(run: Path, irtoolkit: Command) -> None:
    answer = irtoolkit("report", SAMPLE, run, "random.run", "-o", "same.html", "-o", "./same.html")
    assert (answer.status, "is written twice" in answer.err) == (2, True)
    answer = irtoolkit("tune", SAMPLE, "--runs", run, "random.run", "-o", "new", "--log", "./new")
    assert (answer.status, "is written twice" in answer.err) == (2, True)


def test_the_arguments_of_every_command_that_name_files_are_known() -> None:
    """An argument with a new word for its file would not be protected."""
    files = {
        action.metavar
        for command in commands(build_parser())
        for action in command._actions
        if isinstance(action.metavar, str) and FILE.search(action.metavar) and action.type is None
    }
    assert files == _overwriting.FILES


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yields a parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from commands(command)

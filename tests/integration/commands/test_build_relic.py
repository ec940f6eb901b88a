"""irtoolkit build relic: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.building.relic.build import Recipe, build_relic
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from tests import critic

BOOKS = {f"book{n}": critic.book(n, 120) for n in range(3)}


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with novels/ and articles/."""
    for folder in ("novels", "articles"):
        (tmp_path / folder).mkdir()
    for name, sentences in BOOKS.items():
        (tmp_path / "novels" / f"{name}.txt").write_text(critic.as_text(name, sentences), "utf-8")
    for number in range(2):
        text = critic.article(BOOKS, 300 + number, 21).text
        (tmp_path / "articles" / f"article{number}.txt").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


BUILD = ["build", "relic", "--books", "novels/", "--criticism", "articles/", "-o", "mine"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_whole_path(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    said = capsys.readouterr()
    assert "windows for training" in said.out
    assert "mine/train, mine/val, mine/test" in said.err
    for run in ("bm25", "random"):
        assert main(["retrieve", "mine/val", run, "-o", f"{run}.run"]) == 0
    assert main(["eval", "mine/val", "bm25.run", "random.run"]) == 0
    assert "R@10" in capsys.readouterr().out
    assert main(["compare", "mine/val", "bm25.run", "random.run"]) == 0
    assert main(["report", "mine/val", "bm25.run", "random.run", "-o", "report.html"]) == 0
    assert "RELiC" in Path("report.html").read_text("utf-8")
    assert main(["retrieve", "mine/val/1-1", "bm25", "-o", "near.run"]) == 0
    assert main(["datasets", "mine/val"]) == 0
    assert "texts" in capsys.readouterr().out


def test_what_is_left_out_is_counted_with_the_reason(
    texts: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    quoting = (texts / "articles" / "article0.txt").read_text("utf-8")
    titled = f"Title: A Dictionary of Fiction\n\n{quoting}"
    (texts / "articles" / "dictionary.txt").write_text(titled, "utf-8")
    (texts / "articles" / "weather.txt").write_text("It rained by the sea. " * 30, "utf-8")
    (texts / "articles" / "scan.pdf").write_bytes(b"%PDF")
    (texts / "articles" / ".DS_Store").write_bytes(b"")
    assert main(BUILD) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "articles: files that are not read: 1 with .pdf" in caplog.text
    assert (
        "1 of 4 works without a window: in a work that is no criticism by its title: dictionary.txt"
    ) in said
    assert (
        "1 of 4 works without a window: no quotation of these books is in it: weather.txt" in said
    )
    assert "quotations left out: " in said


def test_n_way_tasks_of_a_folder(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    for dataset in ("mine/val/proxy", "mine/val/1-1/proxy", "mine/val/5-way"):
        assert main(["retrieve", dataset, "bm25", "-o", "x.run"]) == 2
        assert f"irtoolkit nway {dataset.replace('/1-1', '')} RUN" in capsys.readouterr().err
    assert main(["retrieve", "mine/val", "bm25", "-o", "val.run"]) == 0
    assert main(["nway", "mine/val/proxy", "val.run"]) == 0
    assert main(["nway", "mine/val/5-way-drawn", "--seed", "1"]) == 0
    assert "mine/choices/val/5-way-drawn.jsonl" in capsys.readouterr().err
    for dataset, ways in (
        ("mine/val/proxy", 3),
        ("mine/val/1-1/proxy", 3),
        ("mine/val/5-way-drawn", 5),
    ):
        assert main(["retrieve", dataset, "bm25", "-o", "x.run"]) == 0
        assert main(["eval", dataset, "x.run"]) == 0
        assert "Success@1" in capsys.readouterr().out
        pools = Dataset.load(dataset).pools()
        assert set(pools) == set(Dataset.load("mine/val").query_ids())
        assert {len(pool) for pool in pools.values()} == {ways}
    # Another benchmark in the folder, built in this process, has other judgments.
    (other, *_) = json.loads(Path("mine/train.json").read_text("utf-8"))
    assert main([*BUILD, "--val", other, "--replace"]) == 0
    assert main(["retrieve", "mine/val/proxy", "bm25", "-o", "x.run"]) == 2
    assert "picked for other judgments than mine/val has now" in capsys.readouterr().err


def test_n_way_tasks_without_judgments(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BUILD, "--hide-test"]) == 0
    capsys.readouterr()
    for command in (
        ["nway", "mine/test/proxy"],
        ["retrieve", "mine/test/proxy", "bm25", "-o", "x.run"],
    ):
        assert main(command) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert "mine/test has no " in lines[0]


def test_the_published_form(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads the release reads the folder in its place."""
    build_relic(["novels"], ["articles"], "data/relic", Recipe(hide_test=True))
    monkeypatch.setenv("IRTOOLKIT_DATA", str(texts / "data"))
    for split in ("train", "val"):
        theirs, ours = Dataset.load(f"relic/{split}"), Dataset.load(f"data/relic/{split}")
        assert theirs.queries() == ours.queries()
        assert theirs.relevant() == ours.relevant()
        assert theirs.pools() == ours.pools()
    assert not Dataset.load("relic/test").has("qrels")
    hidden = Dataset.load("data/relic/test")
    assert not hidden.has("qrels")
    qrels = Path("data/relic/test.qrels").read_text("utf-8").split("\n")[:-1]
    assert [line.split()[0] for line in qrels] == hidden.query_ids()
    run = ir.retrieve("data/relic/test", "bm25", depth=10)
    assert run.query_ids.tolist() == sorted(hidden.query_ids())


@pytest.mark.nightly
def test_processes_give_the_same_bytes(texts: Path) -> None:
    assert main(BUILD) == 0
    here = contents(texts / "mine")
    shutil.rmtree("mine")
    assert main([*BUILD, "--workers", "2"]) == 0
    assert contents(texts / "mine") == here


def test_an_interrupted_build_continues(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_relic(["novels"], ["articles"], "whole")
    from irtoolkit.building.relic import articles

    made: list[str] = []
    window = articles.Finder.__call__

    def once(self: Any, file: Any) -> bool:
        if made:
            raise KeyboardInterrupt
        made.append(file.name)
        return window(self, file)

    with monkeypatch.context() as patched:
        patched.setattr(articles.Finder, "__call__", once)
        with pytest.raises(KeyboardInterrupt):
            build_relic(["novels"], ["articles"], "mine")
    assert not Path("mine/benchmark.json").exists()
    with pytest.raises(InputError, match="no dataset 'mine/val'"):
        Dataset.load("mine/val")
    again = build_relic(["novels"], ["articles"], "mine")
    assert (again.continued, whole.continued) == (1, 0)
    assert contents(texts / "mine") == contents(texts / "whole")
    assert build_relic(["novels"], ["articles"], "mine").continued == 2


def test_a_work_whose_windows_are_gone_is_searched_again(texts: Path) -> None:
    build_relic(["novels"], ["articles"], "mine")
    before = contents(texts / "mine")
    Path("mine/quotations/article0.jsonl").unlink()
    assert build_relic(["novels"], ["articles"], "mine").continued == 1
    assert contents(texts / "mine") == before


def test_windows_are_not_in_memory(texts: Path) -> None:
    """What a build keeps of a window does not grow with its texts."""
    made = build_relic(["novels"], ["articles"], "mine")
    kept = sum(len(pickle.dumps(window)) for window in made.windows)
    texts_of = sum(len(json.dumps(window.read())) for window in made.windows)
    assert 4 * kept < texts_of
    assert [w.read()["start"] for w in made.windows] == [w.start for w in made.windows]


KILLED = """
import json, os, signal
from types import SimpleNamespace
from irtoolkit.building.relic import articles
from irtoolkit.building.relic.build import build_relic

def killed(record, **_):
    os.kill(os.getpid(), signal.SIGKILL)

articles.json = SimpleNamespace(dumps=killed, loads=json.loads)
build_relic(["novels"], ["articles"], "mine")
"""


def test_a_killed_build_leaves_no_temporary_files(texts: Path) -> None:
    from irtoolkit.base.files import is_temporary

    def left() -> list[Path]:
        return [path for path in Path("mine").rglob("*") if is_temporary(path)]

    here = Path(__file__).parents[3]
    died = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": str(here)}, check=False
    )
    assert died.returncode == -signal.SIGKILL
    assert len(left()) == 1
    Path("mine/quotations/.notes.tmp").write_text("mine")
    build_relic(["novels"], ["articles"], "mine")
    assert not left()
    assert Path("mine/quotations/.notes.tmp").exists()


def test_other_settings_need_replace(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    before = contents(texts / "mine")
    assert main([*BUILD, "--words", "9"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert contents(texts / "mine") == before
    assert main([*BUILD, "--words", "9", "--replace"]) == 0
    assert contents(texts / "mine") != before


def twice(texts: Path) -> None:
    shutil.copy(texts / "novels" / "book1.txt", texts / "novels" / "other.txt")


def other_script(texts: Path) -> None:
    (texts / "articles" / "article0.txt").write_bytes("é ü ñ ".encode() * 9 + b"\xe9 and so on")


def empty(texts: Path) -> None:
    (texts / "articles" / "article9.txt").write_text("", "utf-8")


def no_text(texts: Path) -> None:
    (texts / "articles" / "article9.txt").write_text("* * *\n\n12\n", "utf-8")


def other_books(texts: Path) -> None:
    for path in (texts / "articles").iterdir():
        path.write_text(" ".join(critic.book(77, 40)), "utf-8")


def one_name(texts: Path) -> None:
    (texts / "novels" / "more").mkdir()
    (texts / "novels" / "more" / "Book1.md").write_text("Something else.", "utf-8")


def not_ours(texts: Path) -> None:
    (texts / "mine").mkdir()
    (texts / "mine" / "thesis.tex").write_text("mine", "utf-8")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (twice, "novels/other.txt: the same book as novels/book1.txt: 100 %"),
        (other_script, "articles/article0.txt:1: UTF-8 but for byte 0xe9 at offset 81"),
        (empty, "articles/article9.txt: an empty file"),
        (no_text, "articles/article9.txt: there is no text in it"),
        (other_books, "no quotation of 3 books is found in 2 works of criticism"),
        (one_name, "books of one name: book1"),
        (not_ours, "mine: the folder is not empty"),
    ],
)
def test_bad_input(damage: Any, said: str, texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(texts)
    assert main(BUILD) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1]
    assert not (texts / "mine" / "benchmark.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ratio", "180"], "--ratio 180 is not between 0 and 100"),
        (["--test", "emma"], "no window quotes a book emma"),
        (["--books", "nowhere"], "nowhere: no such file or folder"),
    ],
)
def test_bad_arguments(
    words: list[str], said: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BUILD, *words]) == 2
    assert said in capsys.readouterr().err


def test_other_encodings_are_said(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = texts / "articles" / "article0.txt"
    path.write_bytes(("Caf\xe9. " + path.read_text("utf-8")).encode("cp1252", errors="replace"))
    assert main(BUILD) == 0
    assert "articles/article0.txt: not UTF-8, read as windows-1252" in capsys.readouterr().err


def test_a_folder_names_its_splits(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BUILD) == 0
    for dataset in ("mine", "mine/dev"):
        assert main(["retrieve", dataset, "bm25", "-o", "x.run"]) == 2
        assert "mine/train, mine/val, mine/test" in capsys.readouterr().err
    about = json.loads(Path("mine/benchmark.json").read_text("utf-8"))
    Path("mine/benchmark.json").write_text(json.dumps({**about, "format": 99}), "utf-8")
    with pytest.raises(InputError, match="newer irtoolkit"):
        Dataset.load("mine/val")


def test_an_edition_of_a_book_is_no_criticism(texts: Path) -> None:
    shutil.copy(texts / "novels" / "book1.txt", texts / "articles" / "edition.txt")
    made = build_relic(["novels"], ["articles"], "mine")
    assert made.left_out["in a work that is an edition of the book"] > 0
    assert {window.article for window in made.windows} == {"article0", "article1"}

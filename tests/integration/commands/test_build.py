"""What `irtoolkit build` does alike for every benchmark; tests/inputs/builders.py has what it refuses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.pipeline import Build
from irtoolkit.building.plotretrieval import pieces
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from tests.inputs.builders import COMMANDS, contents, lay

# The split that is ranked, a measure, a word of the report, views, and other settings.
BUILT: dict[str, tuple[str, str, str, tuple[str, ...], str]] = {
    "relic": ("val", "R@10", "RELiC", ("val/1-1",), "--words 9"),
    "egret": ("dev", "Rank", "EgRet", ("dev/left",), "--tokens 9"),
    "egret answers": ("dev", "Rank", "EgRet", (), "--tokens 9"),
    "egret nq": ("dev", "Rank", "EgRet", (), "--tokens 9"),
    "plotretrieval": ("val/book", "NRODCG@10", "PlotRetrieval (built from other texts)",
                      ("test/m5/book",), "--keep 0.9"),
    "quoter": ("val", "MedianRank", "QuoteR", ("val/left", "lower/val", "lower/test/right"), "--context 9"),
}  # fmt: skip
SOURCES = ("relic", "egret", "plotretrieval", "quoter")
Err = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pieces, "PIECE", 16)


@pytest.mark.parametrize("name", BUILT)
def test_a_benchmark_is_used_by_every_command(name: str, capsys: Err) -> None:
    lay(name, Path())
    split, measure, title, views, _ = BUILT[name]
    assert main([*COMMANDS[name]]) == 0
    assert f"mine/train, mine/{split.partition('/')[0]}" in capsys.readouterr().err
    for system in ("bm25", "random"):
        assert main(["retrieve", f"mine/{split}", system, "-o", f"{system}.run"]) == 0
    runs = (f"mine/{split}", "bm25.run", "random.run")
    assert main(["eval", *runs]) == 0
    assert measure in capsys.readouterr().out
    assert main(["compare", *runs]) == 0
    assert main(["report", *runs, "-o", "report.html"]) == 0
    assert title in Path("report.html").read_text("utf-8")
    for view in views:
        assert main(["retrieve", f"mine/{view}", "bm25", "-o", "view.run"]) == 0
    assert main(["datasets", f"mine/{split}"]) == 0
    assert "texts" in capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SOURCES, "egret nq"])
def test_processes_give_the_same_bytes(name: str) -> None:
    lay(name, Path())
    assert main([*COMMANDS[name]]) == 0
    before = contents("mine")
    shutil.rmtree("mine")
    assert main([*COMMANDS[name], "--workers", "2"]) == 0
    assert contents("mine") == before


@pytest.mark.parametrize(
    ("name", "step", "done"),
    [
        ("relic", "relic.articles.Finder.__call__", 1),
        ("egret answers", "egret.pieces.Finder._write", 2),
        ("plotretrieval", "plotretrieval.pieces.Piecework.__call__", 2),
        ("quoter", "quoter.texts.Finder.__call__", 1),
    ],
)
def test_an_interrupted_build_continues(
    name: str, step: str, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(name, Path())
    monkeypatch.setattr("irtoolkit.building.egret.pieces.LINES", 4)
    module, owner, method = step.rsplit(".", 2)
    kind = getattr(import_module(f"irtoolkit.building.{module}"), owner)
    whole, made = getattr(kind, method), []

    def step_of(*args: Any) -> Any:
        if len(made) == done:
            raise KeyboardInterrupt
        made.append(args)
        return whole(*args)

    with monkeypatch.context() as patched:
        patched.setattr(kind, method, step_of)
        assert main([*COMMANDS[name]]) == 130
    assert not Path("mine/benchmark.json").exists()
    with pytest.raises(InputError, match="no dataset 'mine/train'"):
        Dataset.load("mine/train")
    again: list[Any] = []

    def counted(*args: Any) -> Any:
        again.append(args)
        return whole(*args)

    with monkeypatch.context() as patched:
        patched.setattr(kind, method, counted)
        assert main([*COMMANDS[name]]) == 0
    resumed = contents("mine")
    shutil.rmtree("mine")
    assert main([*COMMANDS[name]]) == 0
    assert contents("mine") == resumed
    assert len(again) >= done


@pytest.mark.parametrize("name", SOURCES)
def test_other_settings_need_replace(
    name: str, capsys: Err, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(name, Path())
    assert main([*COMMANDS[name]]) == 0
    before = contents("mine")
    other = [*COMMANDS[name], *BUILT[name][-1].split()]
    assert main(other) == 2
    assert "--replace" in capsys.readouterr().err
    assert contents("mine") == before

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Build, "finish", interrupted)
        assert main([*other, "--replace"]) == 130
    # It is no benchmark while it is replaced.
    assert not Path("mine/benchmark.json").exists()
    assert main([*other, "--replace"]) == 0
    changed = contents("mine")
    assert changed != before
    # Nothing of other settings stays.
    assert main([*COMMANDS[name], "--replace"]) == 0
    assert contents("mine") == before


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("relic", "articles/article0.txt"),
        ("egret", "books/book0.txt"),
        ("quoter", "books/essay0.txt"),
    ],
)
def test_an_edited_text_is_searched_again(name: str, file: str) -> None:
    lay(name, Path())
    assert main([*COMMANDS[name]]) == 0
    before = contents("mine")
    text = Path(file).read_text("utf-8")
    Path(file).write_text(text[: text.rindex("\n", 0, len(text) * 2 // 3)], "utf-8")
    assert main([*COMMANDS[name], "--replace"]) == 0
    replaced = contents("mine")
    shutil.rmtree("mine")
    assert main([*COMMANDS[name]]) == 0
    assert replaced == contents("mine") != before


@pytest.mark.parametrize(
    ("name", "more", "splits"),
    [
        ("relic", ["--hide-test"], ("train", "val")),
        ("plotretrieval", [], ("train", "val", "val/book", "test")),
    ],
)
def test_the_published_form(
    name: str, more: list[str], splits: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever reads the release reads the folder in its place."""
    lay(name, Path())
    assert main([*COMMANDS[name][:-1], f"data/{name}", *more]) == 0
    monkeypatch.setenv("IRTOOLKIT_DATA", str(Path("data").resolve()))
    for split in splits:
        theirs, ours = Dataset.load(f"{name}/{split}"), Dataset.load(f"data/{name}/{split}")
        assert theirs.queries == ours.queries
        assert theirs.relevant() == ours.relevant()
        assert not ours.has("scoreddocs") or theirs.pools() == ours.pools()


@pytest.mark.parametrize(
    ("name", "file", "encoding"),
    [
        ("relic", "articles/article0.txt", "windows-1252"),
        ("quoter", "books/essay0.txt", "utf-16"),
    ],
)
def test_other_encodings_are_said(name: str, file: str, encoding: str, capsys: Err) -> None:
    path = lay(name, Path()) / file
    text = f"Caf\xe9. {path.read_text('utf-8')}"
    path.write_bytes(text.encode(encoding, errors="replace"))
    assert main([*COMMANDS[name]]) == 0
    assert f"{file}: not UTF-8, read as {encoding}" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*SOURCES, "csfcube"])
def test_a_second_build_at_the_same_time_is_refused(name: str, capsys: Err) -> None:
    lay(name, Path())
    with Build.locked("mine", ()):
        before = sorted(Path("mine").rglob("*"))
        assert main([*COMMANDS[name]]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "mine: another build is writing there" in line
        assert sorted(Path("mine").rglob("*")) == before
    assert not Path("mine").exists()


def test_a_killed_build_leaves_a_lock_that_nobody_has() -> None:
    Path("mine").mkdir()
    Path("mine/.lock").touch()
    with Build.locked("mine", ()):
        pass
    assert list(Path("mine").iterdir()) == []


def removed(path: str) -> None:
    Path(path).unlink()


def cut(path: str) -> None:
    Path(path).write_text('{"key": "cut', "utf-8")


@pytest.mark.parametrize(
    ("name", "damage", "file", "replaces"),
    [
        ("relic", removed, "quotations/article0.jsonl", False),
        ("egret", cut, "pieces/book1.00000.jsonl", False),
        ("quoter", cut, "occurrences/essay1.jsonl", False),
        ("quoter", cut, "occurrences/essay7.jsonl", False),
        ("quoter", cut, "benchmark.json", True),
    ],
)
def test_what_is_damaged_is_made_again(
    name: str, damage: Callable[[str], None], file: str, replaces: bool, capsys: Err
) -> None:
    lay(name, Path())
    assert main([*COMMANDS[name]]) == 0
    before = contents("mine")
    damage(f"mine/{file}")
    if replaces:
        assert main([*COMMANDS[name]]) == 2
        assert "--replace" in capsys.readouterr().err.splitlines()[-1]
    assert main([*COMMANDS[name], *(["--replace"] if replaces else [])]) == 0
    assert contents("mine") == before

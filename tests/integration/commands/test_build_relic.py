"""irtoolkit build relic: from files to a benchmark that every command uses, and what users get wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.relic.build import build_relic
from irtoolkit.cli import main
from irtoolkit.datasets.dataset import Dataset
from tests.inputs.builders import COMMANDS, lay

BUILD = [*COMMANDS["relic"]]


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return lay("relic", tmp_path)


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


KILLED = """
import os, signal
from irtoolkit.building import text_search
from irtoolkit.building.relic.build import build_relic

def killed(record, **_):
    os.kill(os.getpid(), signal.SIGKILL)

text_search.json_line = killed
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

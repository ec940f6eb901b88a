"""Two builds into one folder at the same time: the second is refused, whatever it builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.building.pipeline import Build
from irtoolkit.cli import main

COMMANDS = {
    "relic": ["--books", "a.txt", "--criticism", "b.txt"],
    "egret": ["--books", "a.txt"],
    "quoter": ["--quotes", "a.txt", "--corpus", "b.txt"],
    "plotretrieval": ["--books", "a.txt", "--comments", "b.tsv", "--align", "bm25"],
    "csfcube": ["--documents", "a.jsonl", "--sample", "1", "--annotators", "ann", "bob"],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt", "b.tsv", "a.jsonl"):
        Path(name).write_text("some text\n", "utf-8")


@pytest.mark.parametrize("benchmark", COMMANDS)
def test_the_second_build_is_refused(benchmark: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Build.locked("mine", ()):
        before = sorted(Path("mine").rglob("*"))
        assert main(["build", benchmark, *COMMANDS[benchmark], "-o", "mine"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "mine: another build is writing there" in line
        assert sorted(Path("mine").rglob("*")) == before
    # The folder is free again, and what is wrong with the texts is said.
    assert main(["build", benchmark, *COMMANDS[benchmark], "-o", "mine"]) == 2
    assert "another build" not in capsys.readouterr().err
    assert not Path("mine/.lock").exists()


def test_a_killed_build_leaves_a_lock_that_nobody_has() -> None:
    Path("mine").mkdir()
    Path("mine/.lock").touch()
    with Build.locked("mine", ()):
        pass
    assert list(Path("mine").iterdir()) == []


def test_a_refused_build_leaves_no_folder() -> None:
    with pytest.raises(RuntimeError), Build.locked("mine", ()):
        raise RuntimeError
    assert not Path("mine").exists()

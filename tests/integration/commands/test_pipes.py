"""Pipes in the place of files of commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import quotable

ROOT = Path(__file__).parents[3]
QUERIES = 1000
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgments, a run, topics, documents and a recipe of more bytes than a pipe gives at once."""
    numbers = range(QUERIES)
    (tmp_path / "q").write_text("".join(f"topic{n} 0 d1 1\n" for n in numbers))
    (tmp_path / "r").write_text("".join(f"topic{n} Q0 d1 1 1.5 t\n" for n in numbers))
    (tmp_path / "t").write_text("".join(f"topic{n}\ta whale at sea\n" for n in numbers))
    (tmp_path / "d").write_text("".join(f'{{"id": "d{n}", "text": "a whale"}}\n' for n in numbers))
    return tmp_path


def bash(folder: Path, command: str) -> str:
    irt = f"PYTHONPATH={ROOT} {sys.executable} -m irtoolkit"
    done = subprocess.run(
        ["bash", "-c", command.replace("IRT", irt)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@needs_bash
@pytest.mark.parametrize(
    "command",
    [
        "IRT eval --qrels <(cat q) <(cat r) -m NumQ",
        "IRT eval <(cat q) <(gzip -c r) -m NumQ",
        "mkfifo p; cat r > p & IRT eval q p -m NumQ",
    ],
)
def test_pipes_are_scored_whole(folder: Path, command: str) -> None:
    assert bash(folder, command).endswith(f" {QUERIES}\n")


@needs_bash
@pytest.mark.parametrize(
    ("command", "said"),
    [

        ("cat t | IRT retrieve <(cat d) bm25 --topics - --depth 1 -o x.run", "1000 queries, 1000 rows"),
        ("IRT fuse <(cat r) r -o x.run", "1000 queries"),
        ("IRT index <(cat d) bm25 -o x", "1,000 documents"),
        ("cat d | IRT search - whale -k 1", "a whale"),
        ("IRT check <(cat r)", "no problems"),
    ],
)  # fmt: skip
def test_every_role_takes_a_pipe(folder: Path, command: str, said: str) -> None:
    assert said in bash(folder, command)


@needs_bash
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cat q | IRT eval - -", "- is named twice, and can be read once"),
        ("mkfifo p; ln -s p l; IRT eval --qrels p l", "p is named twice, and can be read once"),
        ("cat d | IRT search /dev/stdin -k 1", "both come from standard input"),
        ("echo | IRT search csfcube/sample", "no query in standard input"),
    ],
)
def test_standard_input_has_one_role(folder: Path, command: str, said: str) -> None:
    refused = bash(folder, f"{command}; [ $? = 2 ]")
    assert said in refused
    assert not (folder / "x.run").exists()


@needs_bash
def test_a_build_reads_pipes(tmp_path: Path) -> None:
    quotes = quotable.western(12)
    (tmp_path / "books").mkdir()
    (tmp_path / "quotes.txt").write_text("\n".join(quotes))
    for number in range(3):
        text = quotable.essay(quotes, number, 60).text
        (tmp_path / "books" / f"essay{number}.txt").write_text(text)
    bash(tmp_path, "IRT build quoter --quotes quotes.txt --corpus books -o files")
    bash(tmp_path, "IRT build quoter --quotes <(cat quotes.txt) --corpus books -o pipes")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("pipes/*.*")} == {
        path.name: path.read_bytes() for path in tmp_path.glob("files/*.*")
    }
    books = " ".join(f"<(cat books/essay{number}.txt)" for number in range(3))
    bash(tmp_path, f"IRT build quoter --quotes - --corpus {books} -o all < quotes.txt")
    sources = (tmp_path / "all" / "SOURCES.txt").read_text()
    assert "; /dev/fd/" in sources
    assert "irtoolkit-home" not in sources

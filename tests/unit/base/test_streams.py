"""Open files by their names: what goes there is added to what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irtoolkit.base.streams import stream_of

ROOT = Path(__file__).parents[3]
WRITE = """
import sys
from dataclasses import replace
from irtoolkit.base.files import check_writable
from irtoolkit.runs import Run
from irtoolkit.runs.publish import publish

print("before")
check_writable(sys.argv[1])
made = {"system": "s", "retriever": "s", "settings": {}, "dataset": "d"}
run = replace(Run.from_rows([("q", "d", 1.0)]), exact_ranks={"q": {"d": 1}})
publish(run, sys.argv[1], made, 0.0)
"""
ROW = "q Q0 d 1 1 irtoolkit\n"
unix = pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/63", 63), ("/proc/self/fd/1", 1),
        ("/dev//stdout", 1), ("stdout", None), ("/dev/null", None), ("s3://dev/stdout", None),
    ],
)  # fmt: skip
def test_open_files_have_numbers(path: str, number: int | None) -> None:
    assert stream_of(path) == number


@unix
def test_links_to_open_files_have_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").symlink_to("/dev/stdout")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "three").symlink_to("/proc/self/fd/1")
    (tmp_path / "folder").symlink_to("/dev")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    for name in ("one", "two", "three", "folder/stdout"):
        assert stream_of(tmp_path / name) == 1
    for name in ("loop", "file", "none"):
        assert stream_of(tmp_path / name) is None
    assert stream_of("//dev/stdout") == 1
    monkeypatch.chdir("/dev")
    assert stream_of("stdout") == 1
    assert stream_of("null") is None


@unix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "link"])
def test_a_run_is_added_to_the_file_that_the_output_goes_to(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text("old\n")
    if name == "link":
        name = str(tmp_path / "link")
        os.symlink("/dev/stdout", name)
    with log.open("a") as out:
        subprocess.run([sys.executable, "-c", WRITE, name], cwd=ROOT, stdout=out, check=True)
    assert log.read_text() == f"old\nbefore\n{ROW}"
    assert {*os.listdir(tmp_path)} <= {"log", "link"}  # no ranks and no record beside a stream


@unix
def test_a_run_goes_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE, "/dev/stdout"], cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"before\n{ROW}"

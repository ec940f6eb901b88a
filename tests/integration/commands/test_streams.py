"""Commands whose streams are closed, full or without a reader, and an interrupt before they begin."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, cast

import pytest

from irtoolkit.cli import main
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams of POSIX shells")

# What is printed is written at the end, unless the variable says otherwise.
HERE = {**os.environ, "PYTHONPATH": str(ROOT)}
HERE.pop("PYTHONUNBUFFERED", None)
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"
RUN = "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.txt").write_text(QRELS)
    for name in ("r.run", "s.run"):
        (tmp_path / name).write_text(RUN)
    return tmp_path


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a shell says of a line in which `irt` is the command."""
    return subprocess.run(
        ["sh", "-c", f'irt() {{ "{sys.executable}" -m irtoolkit "$@"; }}; {line}'],
        cwd=folder, env=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "status", "out", "err"),
    [
        ("irt eval q.txt r.run 2>&-", 0, "r.run", ""),
        ("irt eval q.txt none >&- 2>&-", 2, "", ""),
        ("irt fuse r.run s.run -o new.run >&- 2>&-", 0, "", ""),
    ],
)
def test_what_is_said_to_a_closed_stream_is_dropped(
    folder: Path, line: str, status: int, out: str, err: str
) -> None:
    done = shell(line, folder)
    assert done.returncode == status
    for said, wanted in ((done.stdout, out), (done.stderr, err)):
        assert wanted in said if wanted else not said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("irt eval q.txt r.run >&-", "cannot write to standard output"),
        ("irt datasets <&- >&- 2>&-", None),
        ("irt fuse r.run s.run -o /dev/stdout >&-", "/dev/stdout: cannot write"),
        ("irt fuse r.run s.run -o /dev/stderr 2>&-", None),
        ("irt fuse r.run s.run -o /dev/fd/9", "/dev/fd/9: cannot write"),
        ("irt eval q.txt r.run --per-query /dev/stdin <q.txt", "/dev/stdin: cannot write"),
    ],
)
def test_a_result_that_has_nowhere_to_go_is_an_error(
    folder: Path, line: str, said: str | None
) -> None:
    """What was asked for is not there, as on a full disk."""
    done = shell(line, folder)
    assert (done.returncode, done.stdout) == (2, "")
    *notes, last = done.stderr.splitlines() if said else ["irtoolkit: None: Bad file descriptor"]
    assert last == f"irtoolkit: {said}: Bad file descriptor"
    assert all(line.startswith("note: ") for line in notes)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("words", ["eval q.txt r.run", "--version"])
def test_output_to_a_full_device_is_one_line(folder: Path, words: str) -> None:
    done = shell(f"irt {words} >/dev/full", folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "irtoolkit: cannot write to standard output: No space"
    )
    assert not {"Traceback", "ignored"} & set(done.stderr.split())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("PYTHONUNBUFFERED=1 irt eval q.txt r.run >/dev/full", "cannot write to standard output"),
        ("irt fuse r.run s.run -o /dev/full", "/dev/full: cannot write"),
        ("irt eval q.txt r.run --per-query /dev/full", "/dev/full: cannot write"),
    ],
)
def test_a_full_device_is_named(folder: Path, line: str, file: str) -> None:
    done = shell(line, folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"irtoolkit: {file}: No space left on device"


def test_unbuffered_output_of_a_caller_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook's or a test runner's, which it writes to after the command."""
    with open(folder / "out.txt", "wb", buffering=0) as raw:
        given = io.TextIOWrapper(cast(IO[bytes], raw), "utf-8", write_through=True)
        monkeypatch.setattr(sys, "stdout", given)
        assert main(["eval", str(folder / "q.txt"), str(folder / "r.run")]) == 0
        gc.collect()
        assert sys.stdout is given
        given.write("more")
        monkeypatch.undo()
    assert (folder / "out.txt").read_text().endswith("more")


@pytest.mark.parametrize("words", ["eval q.txt none", "fuse r.run s.run -o new.run"])
def test_messages_without_a_reader_change_no_status(folder: Path, words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "irtoolkit", *words.split()]
    try:
        done = subprocess.run(
            line,
            cwd=folder,
            env=HERE,
            stderr=writer,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == (0 if "fuse" in words else 2)
    assert (folder / "new.run").exists() == ("fuse" in words)


def test_an_interrupt_during_the_imports_is_silent() -> None:
    script = """
import runpy, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "irtoolkit.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
sys.argv = ["irtoolkit", "datasets"]
runpy.run_module("irtoolkit", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_warning_is_shown_once_in_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    from irtoolkit.commands._streams import messages_once

    log = logging.getLogger("irtoolkit.once")
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        for _ in range(2):
            with messages_once():
                log.warning("%s is cut", "a text")
                log.warning("a text is cut")
    finally:
        root.handlers = handlers
    assert capsys.readouterr().err == "a text is cut\na text is cut\n"

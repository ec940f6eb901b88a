"""Processes that ask a language model: each text is asked once, and a killed process keeps what it had."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from irtoolkit.models.llm.cache import Answers
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "answers"


WORKER = """
import sys, time
from irtoolkit.models.llm.cache import Answers
def ask(texts):
    for text in texts:
        print(text, flush=True)
    time.sleep(0.1)
    return [text.upper() for text in texts]
texts = [f"text {i}" for i in range(12)]
answers = Answers("kind", {"n": 1})
answers.fill(texts, ask, 2, progress=False)
assert [answers[text] for text in texts] == [text.upper() for text in texts]
"""


def start() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_ask_once() -> None:
    workers = [start(), start()]
    said = [worker.communicate(timeout=PATIENCE)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(said[0] + said[1]) == sorted(f"text {i}" for i in range(12))


def test_a_killed_process_leaves_what_it_had(cache: Path) -> None:
    worker = start()
    wait_for(lambda: any(path.stat().st_size for path in cache.glob("*.jsonl")))
    worker.send_signal(signal.SIGKILL)
    before = worker.communicate()[0].splitlines()
    kept = Answers("kind", {"n": 1}).path.read_bytes().count(b"\n")
    assert 0 < kept < 12
    second = start()
    after = second.communicate(timeout=PATIENCE)[0].splitlines()
    assert second.returncode == 0
    assert len(after) == 12 - kept
    assert set(before) | set(after) == {f"text {i}" for i in range(12)}

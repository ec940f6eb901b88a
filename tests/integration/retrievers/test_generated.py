"""Processes that generate queries: one pays, and none loses an answer."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.endpoint import Endpoint
from tests.llm_server import KEY, Handler, Stub, answer_to, kept, serving
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path / "cache" / "answers"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as server:
        yield server


WORKER = """
import sys
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.endpoint import Endpoint
writer = Endpoint("gpt-test", url=sys.argv[1], parallel=3)
Answers("generated", writer.identity()).gather([f"p{i}" for i in range(40)], writer.generate)
"""


@contextmanager
def working(stub: Stub) -> Iterator[subprocess.Popen[str]]:
    """Another process that asks forty times, and is ended after a few answers."""
    begun = threading.Event()

    def slowly(handler: Handler) -> None:
        if len(stub.answered) >= 4:
            begun.set()
        time.sleep(0.1)
        handler.write_out()

    stub.always = slowly
    command = [sys.executable, "-c", WORKER, stub.url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as worker:
        try:
            assert begun.wait(PATIENCE)
            yield worker
        finally:
            worker.kill()


def test_a_killed_process_has_kept_what_came(stub: Stub, cache: Path) -> None:
    with working(stub) as worker:
        worker.kill()
        worker.wait(PATIENCE)
    before = kept(cache)
    assert 0 < len(before) < 40
    stub.always = None
    writer = Endpoint("gpt-test", url=stub.url)
    Answers("generated", writer.identity()).gather([f"p{i}" for i in range(40)], writer.generate)
    assert len(kept(cache)) == 40
    asked = Counter(stub.prompts)
    assert asked.keys() == {f"p{i}" for i in range(40)}
    texts = {str(answer) for answer in before.values()}
    known = [prompt for prompt in asked if any(answer_to(prompt) in text for text in texts)]
    assert len(known) == len(before)
    assert {asked[prompt] for prompt in known} == {1}
    # The killed process may have paid for as many as it has at a time, whose answers nobody got.
    assert asked.total() <= 40 + 3


def test_an_interrupted_process_awaits_what_it_has_asked(stub: Stub, cache: Path) -> None:
    with working(stub) as worker:
        worker.send_signal(signal.SIGINT)
        said = worker.communicate(timeout=PATIENCE)[1]
    assert "KeyboardInterrupt" in said
    assert len(kept(cache)) == len(stub.answered) == len(stub.bodies) < 40


def test_two_processes_pay_once(stub: Stub, cache: Path) -> None:
    command = [sys.executable, "-c", WORKER, stub.url]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(PATIENCE) for worker in workers] == [0, 0]
    assert sorted(stub.prompts) == sorted(f"p{i}" for i in range(40))

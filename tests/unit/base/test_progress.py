"""Where progress bars are shown."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from irtoolkit.base.progress import DELAY, QUIET, announced, in_notebook, tqdm
from tests.waiting import wait_for


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "disable", "shown"),
    [
        (io.StringIO(), None, False),
        (Terminal(), None, True),
        (Terminal(), True, False),
        (io.StringIO(), False, True),
    ],
)
def test_a_bar_is_shown_on_a_terminal_unless_told_otherwise(
    stream: io.StringIO, disable: bool | None, shown: bool
) -> None:
    assert list(tqdm(range(3), disable=disable, file=stream, desc="counting")) == [0, 1, 2]
    assert ("counting" in stream.getvalue()) is shown


def test_a_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtoolkit.base.progress.FIRST", 0)
    monkeypatch.setattr("irtoolkit.base.progress.EVERY", 0)
    stream = io.StringIO()
    with tqdm(total=3, disable=None, file=stream, desc="encoding") as bar:
        for _ in range(3):
            bar.update()
    lines = stream.getvalue().splitlines()
    assert lines[-1].startswith("encoding: 100%")
    assert all(line.startswith("encoding: ") for line in lines)
    assert "\r" not in stream.getvalue()
    monkeypatch.setattr("irtoolkit.base.progress.EVERY", 3600)
    stream = io.StringIO()
    with tqdm(total=3, disable=None, file=stream) as bar:
        for _ in range(3):
            bar.update()
    # One line at the beginning, and one that says where it ended.
    first, last = stream.getvalue().splitlines()
    assert (" 0%" in first, "100%" in last) == (True, True)


def test_what_was_never_shown_or_ended_at_its_last_line_has_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    with tqdm(total=2, disable=None, file=stream) as bar:  # in less than 5 seconds
        bar.update(2)
    assert stream.getvalue() == ""
    monkeypatch.setattr("irtoolkit.base.progress.FIRST", 0)
    monkeypatch.setattr("irtoolkit.base.progress.EVERY", 0)
    with tqdm(total=9, disable=None, file=stream) as bar:
        bar.update(1)
        bar.update(1)  # an error ends it here
    assert stream.getvalue().count("2/9") == 1


def test_what_takes_long_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with announced("loading a small model"):  # in less than 5 seconds
        pass
    assert stream.getvalue() == ""
    monkeypatch.setattr("irtoolkit.base.progress.FIRST", 0)
    with announced("loading a large model"):
        wait_for(lambda: stream.getvalue() == "loading a large model\n")
    monkeypatch.setenv(QUIET, "1")
    with announced("loading in a worker"):
        time.sleep(0.01)
    assert "worker" not in stream.getvalue()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process looks like the kernel of a notebook."""
    shell = type("ZMQInteractiveShell", (), {})()
    module = ModuleType("IPython")
    vars(module).update(vars(SimpleNamespace(get_ipython=lambda: shell)))
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert in_notebook()


@pytest.mark.usefixtures("kernel")
def test_a_notebook_shows_a_widget_for_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []

    def widget(items: Iterable[int], **settings: Any) -> Iterable[int]:
        shown.append(settings)
        return items

    monkeypatch.setattr("irtoolkit.base.progress.find_spec", lambda name: name)
    monkeypatch.setattr("tqdm.notebook.tqdm", widget)
    assert list(tqdm(range(3), desc="counting")) == [0, 1, 2]
    assert shown == [{"desc": "counting", "disable": False, "delay": DELAY}]
    assert list(tqdm(range(3), disable=True)) == [0, 1, 2]
    assert len(shown) == 1

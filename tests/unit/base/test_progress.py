"""Where progress bars are shown."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

from irtoolkit.base.progress import in_notebook, tqdm


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


def test_a_bar_that_is_not_shown_begins_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would wait for ever for one without memory."""
    begun = []

    def begin(*given: object) -> SimpleNamespace:
        begun.append(given)
        return SimpleNamespace(report=lambda: True, exit=lambda: None)

    monkeypatch.setattr("tqdm.std.TMonitor", begin)
    monkeypatch.setattr("tqdm.std.tqdm.monitor", None)
    assert list(tqdm(range(3), disable=True)) == [0, 1, 2]
    assert list(tqdm(range(3), disable=None, file=io.StringIO())) == [0, 1, 2]
    assert begun == []
    assert list(tqdm(range(3), disable=None, file=Terminal())) == [0, 1, 2]
    assert len(begun) == 1


def test_a_notebook_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    assert not in_notebook()
    shell = type("ZMQInteractiveShell", (), {})()
    kernel = ModuleType("IPython")
    vars(kernel).update(vars(SimpleNamespace(get_ipython=lambda: shell)))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert in_notebook()
    assert list(tqdm(range(3), file=stream, desc="counting")) == [0, 1, 2]
    assert "counting" in stream.getvalue()

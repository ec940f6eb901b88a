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

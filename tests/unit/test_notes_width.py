"""A note is broken at the width of the terminal, and in a file or pipe it is one line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QRELS = "".join(f"{query} 0 a 1\n" for query in "123")
RUNS = {
    "one": "".join(f"{query} Q0 a 1 2.0 one\n" for query in "123"),
    "two": "".join(f"{query} Q0 b 1 2.0 two\n{query} Q0 a 2 1.0 two\n" for query in "123"),
}


@pytest.mark.parametrize("at_terminal", [True, False])
def test_a_caution_fits_the_terminal(
    at_terminal: bool,
    irtoolkit: Callable[..., Any],
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: at_terminal)
    runs = [write(f"{name}.run", rows) for name, rows in RUNS.items()]
    answer = irtoolkit("compare", write("q.qrels", QRELS), *runs, "--measure", "RR")
    caution = answer.err[answer.err.index("Caution:") :].splitlines()
    assert "Use 25 queries or more." in " ".join(caution)
    if at_terminal:
        assert max(map(len, caution)) <= 60
    else:
        assert len(caution) == 1

"""Scores that differ only beyond single precision: tied as by trec_eval 9, or ordered as by trec_eval 10."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.runs import Run
from tests.conftest import Answer

# In single precision, all scores of a query are equal.
ROWS = [
    ("q", "b", 16777216.0), ("q", "a", 16777217.0), ("q", "c", 16777216.0),
    ("p", "y", 1.00000000001), ("p", "z", 1.0), ("p", "x", 1.00000000002),
    ("n", "e", -1.00000000001), ("n", "d", -1.0), ("o", "g", 0.0), ("o", "f", 1e-60),
]  # fmt: skip
SINGLE = {"n": "ed", "o": "gf", "p": "zyx", "q": "cba"}
DOUBLE = {"n": "de", "o": "fg", "p": "xyz", "q": "acb"}
TEXT = "".join(f"{query} Q0 {doc} 1 {score!r} t\n" for query, doc, score in ROWS)


def order(run: Run) -> dict[str, str]:
    return {str(q): "".join(row.doc_id for row in run.ranking(q)) for q in sorted(run.query_ids)}


def parquet(path: Path) -> Path:
    frame = pd.DataFrame(ROWS, columns=["query_id", "doc_id", "score"])
    frame.to_parquet(path)
    return path


@pytest.mark.parametrize(
    "form", ["plain", "careful", "gzip", "parquet", "rows", "mapping", "frame"]
)
def test_runs_of_every_form_are_compared_in_either_precision(
    form: str, write: Callable[..., Path], tmp_path: Path
) -> None:
    given: Any = {
        "plain": lambda: write("x.run", TEXT),
        "careful": lambda: write("x.run", TEXT.replace(" Q0", "  \tQ0")),
        "gzip": lambda: write("x.run.gz", gzip.compress(TEXT.encode())),
        "parquet": lambda: parquet(tmp_path / "x.parquet"),
        "rows": lambda: ROWS,
        "mapping": lambda: {q: {d: s for p, d, s in ROWS if p == q} for q in SINGLE},
        "frame": lambda: pd.DataFrame(ROWS, columns=["query_id", "doc_id", "score"]),
    }[form]()
    assert order(Run.of(given)) == SINGLE
    run = Run.of(given, precision="double")
    assert order(run) == DOUBLE
    assert run.scores.dtype == np.float32
    # The order is in the scores, and so in a file too.
    run.write(tmp_path / "again.run")
    assert order(Run.read(tmp_path / "again.run")) == DOUBLE


def test_commands_compare_in_double_precision(
    irtoolkit: Callable[..., Answer], write: Callable[..., Path], tmp_path: Path
) -> None:
    run = write("x.run", TEXT)
    qrels = write("x.qrels", "p 0 x 1\nq 0 a 1\n")
    assert irtoolkit("eval", qrels, run, "-m", "P@1").out.split()[-1] == "0.0000"
    assert (
        irtoolkit("eval", qrels, run, "-m", "P@1", "--precision", "double").out.split()[-1]
        == "1.0000"
    )
    figures = ir.evaluate({"p": {"x": 1}, "q": {"a": 1}}, run, measures="RR", precision="double")
    assert figures.figures()[str(run)]["RR"] == 1
    page = irtoolkit(
        "report", qrels, run, "-m", "P@1", "--precision", "double", "-o", tmp_path / "x.md"
    )
    assert page.status == 0, page.err


def test_scores_without_room_are_refused(write: Callable[..., Path]) -> None:
    lowest = float(np.finfo(np.float32).min)
    run = write("x.run", f"q Q0 a 1 {lowest!r} t\nq Q0 b 2 {lowest!r} t\n")
    assert len(Run.read(run)) == 2
    with pytest.raises(InputError, match="leave no room"):
        Run.read(run, precision="double")
    with pytest.raises(InputError, match="not a finite single-precision number"):
        Run.read(write("y.run", "q Q0 a 1 1e300 t\n"), precision="double")

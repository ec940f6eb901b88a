"""Examples of answers of two megabytes: what grew as their square would take too long to wait for."""

from __future__ import annotations

from pathlib import Path

import ir_datasets
import pytest

from tests.unit.datasets.test_loaders_damage import EGRET, FILLER, KILT, lines, question

LONG = 2_000_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nobody else writes into."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("unit", "rest", "examples"),
    [
        ("For example, me.", FILLER * 150, 260),
        ("So (e.g. me) it is.", "All (so) is ((well)). " * 400, 220),
        ("E.g. " + "very " * (LONG // 5), "", 1),
        ("e.g. me", "(" * (LONG // 4), 1),
        ("e.g. me.", "\n \n." * (LONG // 16), 1),
    ],
    ids=["sentences", "clauses", "one sentence", "parentheses", "line ends"],
)
def test_a_long_answer(home: Path, tmp_path: Path, unit: str, rest: str, examples: int) -> None:
    """With few examples and with many, in sentences and without any end."""
    piece = f"{unit} {rest} "
    # What is made of one piece only is long enough as it is.
    answer = piece * (LONG // len(piece) if examples > 1 else 1)
    EGRET.write(tmp_path / "data", KILT, lines([question("t1", answer)]).encode())
    queries = list(ir_datasets.load("egret/train").queries_iter())
    assert examples <= len(queries) <= max(1, examples * 1.1)
    for query in queries[:3] + queries[-3:]:
        assert len(query.left.split()) <= 256
        assert len(query.right.split()) <= 256
    if examples > 1:
        words = answer.split()
        assert queries[0].right.split()[-1] in words
        assert len(queries[examples // 2].left.split()) == 256
        assert len(queries[examples // 2].right.split()) == 256

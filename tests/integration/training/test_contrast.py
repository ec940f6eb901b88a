"""Training sets without a negative are refused: training would end with the weights it began with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.training.trainer import train
from tests import planted
from tests.datasets import register


def judged(count: int, same: bool) -> str:
    """Registers a dataset of queries with one relevant document each, perhaps the same."""
    docs = {f"d{i}": f"a cat purrs {i}" for i in range(count)}
    queries = {f"q{i}": f"cat {i}" for i in range(count)}
    relevant = [(f"q{i}", "d0" if same else f"d{i}", 1) for i in range(count)]
    return register(docs, queries, qrels=relevant)


@pytest.mark.parametrize(
    ("count", "same", "settings"),
    [
        (1, False, {}),
        (6, True, {"apart": True, "batch": 4}),
        (1, False, {"loss": "all", "frozen": "documents"}),
        (1, False, {"loss": "every"}),
    ],
)
def test_no_negative_is_refused(
    count: int, same: bool, settings: dict[str, Any], tmp_path: Path
) -> None:
    recipe = planted.recipe(
        judged(count, same), planted.start(tmp_path / "start"), **{"loss": "in-batch", **settings}
    )
    with pytest.raises(InputError, match="no negative"):
        train(recipe, tmp_path / "model", device="cpu")
    assert not (tmp_path / "model").exists()


def test_two_documents_are_enough(tmp_path: Path) -> None:
    recipe = planted.recipe(
        judged(2, False), planted.start(tmp_path / "start"), loss="in-batch", epochs=1
    )
    assert train(recipe, tmp_path / "model", device="cpu").folder.is_dir()

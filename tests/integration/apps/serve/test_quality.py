"""Measurements are shown with the model they were made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irtoolkit.apps.serve.collection import Collection
from irtoolkit.apps.serve.quality import keep, load, shown
from irtoolkit.datasets.novels import novel_of


def test_figures_of_another_model_are_not_shown(tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "dataset": "relic/val", "books": 1, "measured": "2026-01-01", "of": 9, "depth": 20,
        "key": "k", "found": {"words": 1},
    }  # fmt: skip
    for model in ("one", "two", "two", None):
        keep(tmp_path, {**record, "model": model})
    assert [one["model"] for one in load(tmp_path)] == ["one", "two", None]
    books = Collection("b", "b", [novel_of(b"One lamp.", "b")], None)
    (found,) = shown(load(tmp_path), books, "two")
    assert found.command == "irtoolkit serve relic/val --measure --model two"

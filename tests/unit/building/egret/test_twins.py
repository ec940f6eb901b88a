"""Near duplicates across splits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irtoolkit.building.egret import quality as twins
from tests import critic


def put(path: Path, units: dict[str, str]) -> Path:
    lines = [json.dumps({"id": n, "left": "", "text": t, "right": ""}) for n, t in units.items()]
    path.write_text("\n".join(lines) + "\n" if lines else "", "utf-8")
    return path


def test_changed_words_hide_nothing(tmp_path: Path) -> None:
    first, second, third, fourth = critic.book(1, 4)
    near = first.replace(first.split()[4], "else", 1).upper()
    train = put(tmp_path / "train.jsonl", {"t1": near, "t2": second, "t3": third})
    dev = put(tmp_path / "dev.jsonl", {"d1": first, "d2": fourth, "d3": third})
    assert twins.near_duplicates(train, dev) == [["t1", "d1"], ["t3", "d3"]]
    assert twins.near_duplicates(put(tmp_path / "none.jsonl", {}), dev) == []


def test_of_many_some_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {str(n): text for n, text in enumerate(critic.book(2, 9))}
    both = [put(tmp_path / f"{name}.jsonl", texts) for name in ("train", "dev")]
    assert len(twins.near_duplicates(*both)) == 9
    monkeypatch.setattr(twins, "_MOST", 3)
    assert twins.near_duplicates(*both) == [["0", "0"], ["3", "3"], ["6", "6"]]


def test_common_phrases_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    phrase, *texts = critic.book(3, 9)
    dev = {str(n): f"{text} {phrase} {phrase}" for n, text in enumerate(texts)}
    both = (put(tmp_path / "train.jsonl", {"t": phrase}), put(tmp_path / "dev.jsonl", dev))
    assert len(twins.near_duplicates(*both)) == 8
    monkeypatch.setattr(twins, "_COMMON", 7)
    assert twins.near_duplicates(*both) == []

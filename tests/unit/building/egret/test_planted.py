"""Examples planted in invented answers, articles and books are found, whole, and nothing else is."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from irtoolkit.building.egret.build import build_egret
from irtoolkit.building.egret.sources import ANSWERS, BOOKS, NQ
from tests import explainer

TEXTS = [explainer.explained(seed) for seed in range(8)]


def put(kind: str, folder: Path) -> list[Path]:
    """Two files with four texts each."""
    halves = [TEXTS[:4], TEXTS[4:]]
    if kind == BOOKS:
        paths = [folder / "one.txt", folder / "two.md"]
        for path, half in zip(paths, halves, strict=True):
            path.write_text(explainer.book_text(path.stem, [t.text for t in half]), "utf-8")
        return paths
    if kind == ANSWERS:
        path = folder / "answers.jsonl"
        path.write_text(explainer.answer_lines([t.text for t in TEXTS]), "utf-8")
        return [path]
    paths = [folder / "nq-train.jsonl", folder / "nq-dev.jsonl.gz"]
    for at, (path, half) in enumerate(zip(paths, halves, strict=True)):
        records = [
            explainer.nq_record(4 * at + n, t.text, full=at == 1) for n, t in enumerate(half)
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return paths


def found(place: Path) -> list[str]:
    lines = [
        json.loads(line)
        for split in ("train", "dev")
        for line in (place / f"{split}.jsonl").read_text("utf-8").splitlines()
    ]
    return [explainer.solid(line["text"]) for line in lines]


@pytest.mark.parametrize("kind", [ANSWERS, NQ, BOOKS])
def test_precision_and_recall(kind: str, tmp_path: Path) -> None:
    build_egret(kind, put(kind, tmp_path), tmp_path / "mine")
    wanted = Counter(explainer.solid(text) for one in TEXTS for _, text in one.planted)
    right = sum((Counter(found(tmp_path / "mine")) & wanted).values())
    assert right > 0.95 * len(found(tmp_path / "mine"))
    assert right > 0.95 * wanted.total()


@pytest.mark.parametrize("kind", [ANSWERS, NQ, BOOKS])
def test_contexts_are_those_of_the_text(kind: str, tmp_path: Path) -> None:
    """What is before, in and after an example is the passage, where it has no more than 256 words."""
    build_egret(kind, put(kind, tmp_path), tmp_path / "mine")
    passages = {explainer.solid(one.text) for one in TEXTS}
    for split in ("train", "dev"):
        for line in (tmp_path / "mine" / f"{split}.jsonl").read_text("utf-8").splitlines():
            unit = json.loads(line)
            whole = explainer.solid(unit["left"] + unit["text"] + unit["right"])
            assert any(whole in passage for passage in passages)
            assert max(len(unit[side].split()) for side in ("left", "right")) <= 256

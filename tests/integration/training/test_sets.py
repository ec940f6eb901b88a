"""Training sets of the real releases, and processes that build one at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.training.duplicates import words_of
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sets import build_training_set
from tests.unit.training.test_sets import RELIC, pairs, relevant, sentences_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_processes_that_build_at_once(cache: Path) -> None:
    code = (
        "from irtoolkit.training.sets import build_training_set; from irtoolkit.training.recipes import Stage\n"
        f"print(build_training_set(Stage(dataset='{RELIC}')).fingerprint)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = {process.communicate()[0].strip() for process in both}
    assert said == {build_training_set(Stage(dataset=RELIC)).fingerprint}
    assert len([*(cache / "training").iterdir()]) == 1


@pytest.mark.parametrize(
    ("dataset_id", "folder", "query"),
    [
        ("relic/val/4-4", "relic", "masked:<mask>"),
        ("quoter/lzh/train", "quoter", "masked:[MASK]"),
        ("quoter/en/train", "quoter", "left"),
        ("plotretrieval/train/book", "plotretrieval", "default"),
        ("egret/train/left", "egret", "default"),
        ("csfcube/method", "csfcube", "title+abstract"),
    ],
)
def test_real_datasets(dataset_id: str, folder: str, query: str, real_data: Path) -> None:
    if not (real_data / folder).is_dir():
        pytest.skip(f"{real_data} has no {folder} release")
    doc = query if folder == "csfcube" else "default"
    rows = build_training_set(Stage(dataset=dataset_id, query=query, doc=doc, near=0.8))
    assert pairs(rows) == relevant(dataset_id)
    words = [words_of(text) for text in rows.docs]
    for row in np.random.default_rng(0).permutation(len(rows))[:20].tolist():
        golds = [
            int(g)
            for g, q in zip(rows.golds, rows.query_of, strict=True)
            if q == rows.query_of[row]
        ]
        barred = {*rows.excluded(row).tolist()}
        assert barred >= {*golds}
        for doc_number in range(len(rows.docs)):
            alike = max(
                len(words[doc_number] & words[g]) / max(1, len(words[doc_number] | words[g]))
                for g in golds
            )
            assert alike < 0.8 or doc_number in barred
            if folder in ("quoter", "egret", "csfcube"):
                assert (alike >= 0.8) == (doc_number in barred)


def test_real_books(real_data: Path) -> None:
    if not (real_data / "plotretrieval").is_dir():
        pytest.skip(f"{real_data} has no plotretrieval release")
    stage = Stage(
        source="surroundings", dataset="plotretrieval/val", length=3, query="masked:[MASK]"
    )
    rows = build_training_set(stage)
    books = sentences_of("plotretrieval/val")
    assert len(set(rows.groups.tolist())) == len(books)
    whole = sum(len(known) // 3 for known in books.values())
    assert 0.9 * whole < len(rows) <= whole

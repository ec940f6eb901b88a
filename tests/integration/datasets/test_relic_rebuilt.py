"""Windows of the data at hand, found again in the texts that they are from."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.building.reading import Source
from irtoolkit.building.relic.build import build_relic
from irtoolkit.building.relic.scans import Scan
from irtoolkit.building.relic.words import Words
from irtoolkit.building.shelves import TextFile

DATA = Path(os.environ.get("IRTOOLKIT_DATA", "../shared/data"))
BOOKS = ("hard_times", "oliver_twist", "a_christmas_carol")
ARTICLES = ("34112-0.txt", "37284-8.txt")


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    files = [DATA / "relic" / f"{split}.json" for split in ("train", "val")]
    texts = [DATA / "raw" / "novels", DATA / "raw" / "criticism"]
    if not all(path.exists() for path in (*files, *texts)):
        pytest.skip("the windows and the texts that they are from are not here")
    found: dict[str, Any] = {}
    for path in files:
        found |= json.loads(path.read_text("utf-8"))
    return {name: found[name] for name in BOOKS}


@pytest.fixture(scope="module")
def criticism() -> str:
    """The words of the works, as one line."""
    lines = []
    for name in ARTICLES:
        path = DATA / "raw" / "criticism" / name
        paragraphs = Scan(Source.of(TextFile(path, name).opened)).paragraphs()
        lines.append(Words.of(" ".join(paragraph.text for paragraph in paragraphs)).line)
    return " | ".join(lines)


@pytest.fixture(scope="module")
def built(given: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rebuilt") / "mine"
    novels = [DATA / "raw" / "novels" / f"{name}.md" for name in given]
    build_relic(novels, [DATA / "raw" / "criticism" / name for name in ARTICLES], place)
    return place


def words_of(sides: list[list[str]]) -> set[str]:
    return set(Words.of(" ".join(sentence for side in sides for sentence in side)).line.split())


def test_the_given_quotations_are_found(given: dict[str, Any], criticism: str, built: Path) -> None:
    sentences: dict[str, list[str]] = {}
    for split in json.loads((built / "benchmark.json").read_text("utf-8"))["splits"]:
        release = json.loads((built / f"{split}.json").read_text("utf-8"))
        sentences |= {name: record["sentences"] for name, record in release.items()}
    ours: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in (built / "quotations").glob("*.jsonl"):
        # The first line is about the text, and the last has totals.
        for line in path.read_text("utf-8").splitlines()[1:-1]:
            window = json.loads(line)
            ours[window["book"]].append(window)
    wanted = found = same = 0
    for name, record in given.items():
        words = Words.of("\n".join(sentences[name]))
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences[name]])
        for left, start, length, right in record["quotes"].values():
            lines = [Words.of(s).line for s in (*left, *right)]
            long = [line for line in lines if len(line.split()) > 5]
            if 2 * sum(line in criticism for line in long) <= len(long):
                continue  # of a work that is not among these
            gold = Words.of(" ".join(record["sentences"][start : start + length])).line
            at = words.line.index(gold)
            first, last = np.searchsorted(words.offsets, [at, at + len(gold)], side="right") - 1
            begin, stop = np.searchsorted(ends, words.begins[[first, last]], side="right")
            context = words_of([left, right])
            there = [
                (window["start"], window["start"] + window["length"])
                for window in ours[name]
                if 2 * len(context & words_of([window["left"], window["right"]])) > len(context)
                and window["start"] <= stop
                and begin < window["start"] + window["length"]
            ]
            wanted += 1
            found += bool(there)
            same += (begin, stop + 1) in there
    assert wanted > 20
    assert found >= 0.95 * wanted
    # Where they differ, an ellipsis or an insertion joins two parts here.
    assert same >= 0.6 * wanted

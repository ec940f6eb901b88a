"""The quality report of a benchmark in EgRet's form; examples are read one by one."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.building.egret.gather import DEV, TRAIN, Gathered
from irtoolkit.building.egret.sources import ANSWERS, BOOKS, NQ
from irtoolkit.building.quality import Quality, Sample, steps
from irtoolkit.building.relic.words import Words
from irtoolkit.building.shelves import digest

_SAMPLE = 20
# Rows of a table of files.
_FILES = 30
# Tables 1 and 2 of the paper, by the kind of the files.
_PAPER: dict[str, tuple[float, ...]] = {
    ANSWERS: (65157, 1185, 123.7, 23.3, 135.3, 94),
    NQ: (1209, 52, 74.0, 33.1, 54.8, 94),
    BOOKS: (2848171, 712043, 155.7, 27.1, 107.5, 90),
}
_NAMES = (
    "examples for training",
    "examples for validation",
    "words of the left context, mean",
    "words of an example, mean",
    "words of the right context, mean",
    "true examples, %, as people judge (egret-annotation)",
)


# Two examples with their nearest contexts are near duplicates where they share so many runs of words.
_NEAR = 0.5
# Runs that more examples of dev have are common phrases, and do not count.
_COMMON = 50
# Words of context on each side.
_AROUND = 30
# Examples of dev that are compared; of more, this many at equal distances.
_MOST = 20_000


class Tally:
    """Counts of examples as they are written.

    Attributes:
        repeated: examples whose text another one has.
        first: examples without a word before them.
    """

    def __init__(self) -> None:
        self._words: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._markers: Counter[str] = Counter()
        self._lengths: Counter[int] = Counter()
        self._shared: Counter[int] = Counter()
        self._texts: set[int] = set()
        self._sample: list[tuple[str, int, Sample]] = []
        self.repeated = self.first = 0
        self._count = 0

    def add(self, unit: Mapping[str, Any], name: str, split: str) -> None:
        """Counts an example of a file."""
        self._count += 1
        lengths = {side: len(unit[side].split()) for side in ("left", "text", "right")}
        self._words.update(lengths)
        self._files[name] += 1
        form = "in parentheses" if unit["text"].startswith("(") else "a sentence"
        marker = "for example" if "x" in unit["marker"].casefold() else "e.g."
        self._markers[f"{marker}, {form}"] += 1
        self._lengths[lengths["text"] // 10 * 10] += 1
        words = {word for word in Words.of(unit["text"]).line.split() if len(word) > 3}
        before = set(Words.of(unit["left"]).line.split())
        self._shared[10 * min(9, 10 * len(words & before) // max(1, len(words)))] += 1
        text = int(digest(unit["text"])[:15], 16)
        self.repeated += text in self._texts
        self._texts.add(text)
        self.first += not unit["left"]
        self._sample_one(unit, name, split)

    def _sample_one(self, unit: Mapping[str, Any], name: str, split: str) -> None:
        """Takes an example into the sample, which are those with the least hashes in any order."""
        details = {"split": split, "file": name, "question": unit["question"]}
        left, right = " ".join(unit["left"].split()[-40:]), " ".join(unit["right"].split()[:20])
        sample = Sample(unit["id"], details, left, unit["text"], right)
        heapq.heappush(self._sample, (_downward(digest(unit["id"])), -self._count, sample))
        if len(self._sample) > _SAMPLE:
            heapq.heappop(self._sample)

    def quality(self, gathered: Gathered, near: Iterable[list[str]]) -> Quality:
        """Returns the report."""
        kind = gathered.sources[0].kind
        paper = dict(zip(_NAMES, _PAPER[kind], strict=True))
        means = [round(self._words[side] / self._count, 1) for side in ("left", "text", "right")]
        values = [gathered.examples[TRAIN], gathered.examples[DEV], *means, None]
        counts: dict[str, float | None] = dict(zip(_NAMES, values, strict=True))
        noun = "books" if kind == BOOKS else "questions"
        counts[noun] = sum(summary.questions for summary in gathered.seen.values())
        files = dict(self._files.most_common(_FILES))
        if len(self._files) > len(files):
            files["others"] = self._files.total() - sum(files.values())
        return Quality(
            counts=counts,
            paper=paper,
            tables={
                "files" if kind != BOOKS else "books": files,
                "left out": dict(gathered.left_out.most_common()),
                "markers": dict(self._markers.most_common()),
                "words of an example": steps(self._lengths, 10),
                "percent of the example's longer words in its left context": steps(
                    self._shared, 10, most=100
                ),
            },
            findings={
                "examples without a word before them": self.first,
                "examples whose text another one has, with other words before it": self.repeated,
                "near duplicates across splits": list(near),
            },
            sample=[sample for *_, sample in sorted(self._sample, reverse=True)],
        )


def _downward(name: str) -> str:
    """Returns a text that sorts in the reverse order of another, both of hexadecimal digits."""
    return name.translate(str.maketrans("0123456789abcdef", "fedcba9876543210"))


def near_duplicates(train: Path, dev: Path) -> list[list[str]]:
    """Returns pairs of ids of a train and a dev example whose texts share most runs of four words.

    Args:
        train, dev: their files.
    """
    ids, runs = _indexed(dev)
    sizes = Counter(position for places in runs.values() for position in places)
    duplicates = []
    for unit in _records(train):
        unit_runs = _runs(unit)
        shared = Counter(position for run in unit_runs for position in runs.get(run, ()))
        duplicates += [
            [unit["id"], ids[position]]
            for position, count in sorted(shared.items())
            if count > _NEAR * min(len(unit_runs), sizes[position])
        ]
    return duplicates


def _indexed(dev: Path) -> tuple[list[str], dict[int, list[int]]]:
    """Returns ids of examples of dev, and run to the positions of those that have it."""
    step = max(1, -(-sum(1 for _ in _records(dev)) // _MOST))
    ids: list[str] = []
    runs: dict[int, list[int]] = {}
    for unit in islice(_records(dev), 0, None, step):
        for run in _runs(unit):
            runs.setdefault(run, []).append(len(ids))
        ids.append(unit["id"])
    return ids, {run: places for run, places in runs.items() if len(places) <= _COMMON}


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _runs(unit: dict[str, Any]) -> list[int]:
    left, right = unit["left"].split()[-_AROUND:], unit["right"].split()[:_AROUND]
    words = Words.of(" ".join([*left, unit["text"], *right]))
    return [int(run) for run in np.unique(words.grams())]

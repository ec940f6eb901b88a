"""Near duplicates across splits, with the examples of dev in memory and those of train one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.building.relic.words import Words

# Two examples with their nearest contexts are near duplicates where they share so many runs of words.
_NEAR = 0.5
# Runs that more examples of dev have are common phrases, and do not count.
_COMMON = 50
# Words of context on each side.
_AROUND = 30
# Examples of dev that are compared; of more, this many at equal distances.
_MOST = 20_000


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

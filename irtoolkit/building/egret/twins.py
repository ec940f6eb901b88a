"""Near duplicates across splits, with the examples of dev in memory and those of train one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.building.relic.words import Words

# Two examples with their nearest contexts are near duplicates where they share so many runs of words.
_NEAR = 0.5
# Words of context on each side.
_AROUND = 30
# Examples of dev that are compared; of more, this many at equal distances.
_MOST = 20_000


def near_duplicates(train: Path, dev: Path) -> list[list[str]]:
    """Pairs of ids, of an example of train and one of dev, whose texts share most runs of four words.

    Args:
        train, dev: their files.
    """
    runs: dict[int, list[int]] = {}
    ids: list[str] = []
    sizes: list[int] = []
    count = sum(1 for _ in _records(dev))
    step = max(1, -(-count // _MOST))
    for place, unit in enumerate(_records(dev)):
        if place % step == 0:
            own = _runs(unit)
            for run in own:
                runs.setdefault(run, []).append(len(ids))
            ids.append(unit["id"])
            sizes.append(len(own))
    found = []
    for unit in _records(train):
        own = _runs(unit)
        shared = Counter(other for run in own for other in runs.get(run, ()))
        found += [
            [unit["id"], ids[other]]
            for other, count in sorted(shared.items())
            if count > _NEAR * min(len(own), sizes[other])
        ]
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _runs(unit: dict[str, Any]) -> list[int]:
    left, right = unit["left"].split()[-_AROUND:], unit["right"].split()[:_AROUND]
    words = Words.of(" ".join([*left, unit["text"], *right]))
    return [int(run) for run in np.unique(words.grams())]

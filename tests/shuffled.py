"""A plugin of pytest that runs files, and the tests of each, in a random order: -p tests.shuffled."""

from __future__ import annotations

import os
import random

import pytest

# Names the seed; without it the order stays. All workers of pytest-xdist must have the same order.
VARIABLE = "IRTOOLKIT_ORDER"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seed = os.environ.get(VARIABLE)
    if seed is None:
        return
    draw = random.Random(int(seed))
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    groups = list(files.values())
    draw.shuffle(groups)
    for group in groups:
        draw.shuffle(group)
    items[:] = [item for group in groups for item in group]

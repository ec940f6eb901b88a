"""A dataset: proverbs, and plain sentences that say the same."""

from __future__ import annotations

from collections.abc import Callable

import ir_datasets

from irtoolkit.datasets.memory import dataset_of_texts

PROVERBS = {
    "p1": "Too many cooks spoil the broth.",
    "p2": "The early bird catches the worm.",
    "p3": "A stitch in time saves nine.",
    "p4": "Still waters run deep.",
}
MEANINGS = {
    "m1": "When everybody takes part, the work turns out badly.",
    "m2": "Whoever gets up first wins.",
    "m3": "Repair it now, or there will be more to repair later.",
    "m4": "Quiet people may have strong feelings.",
}


def register(add: Callable[[str, ir_datasets.Dataset], None]) -> None:
    """Makes the dataset known to ir_datasets; irtoolkit calls this once."""
    relevant = {f"m{number}": {f"p{number}": 1} for number in range(1, 5)}
    add("proverbs", dataset_of_texts(PROVERBS, MEANINGS, relevant, name="proverbs").source)

"""Splits in which no two share a book (§2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean

T = TypeVar("T")
TRAIN, VAL, TEST = SPLITS = ("train", "val", "test")
# The share of the windows that val and test have; about that of the paper's Table 1.
SHARE = 0.1


def split_books(
    counts: Mapping[str, int], val: Sequence[str] = (), test: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Returns the books of each split; splits without a book are left out.

    Val and test get about a tenth of the windows each, at least one book; of a single book, all
    windows are for testing, and of two, one book is for training.

    Args:
        counts: windows of each book, all above 0.
        val, test: names of books for a split, in place of chosen ones.

    Raises:
        InputError: a book that has no windows, or is named for both.
    """
    for name in (*val, *test):
        if name not in counts:
            near = did_you_mean(name, list(counts))
            raise InputError(
                f"no window quotes a book {name}", remedy=f"{near}quoted: {', '.join(counts)}"
            )
    both = sorted({*val} & {*test})
    if both:
        raise InputError(f"{both[0]} is wanted in val and in test", remedy="a book has one split")
    rest = {name: count for name, count in counts.items() if name not in {*val, *test}}
    target = SHARE * sum(counts.values())
    parts = {TEST: list(test), VAL: list(val)}
    for split in (TEST, VAL):
        # With one book there is a test, with two a training set too.
        smaller = {1: (TEST,), 2: (TEST,)}.get(len(counts), (TEST, VAL))
        if split in smaller and not parts[split] and rest:
            parts[split] = _about(rest, target)
            rest = {name: count for name, count in rest.items() if name not in parts[split]}
    split_of = {TRAIN: list(rest), VAL: parts[VAL], TEST: parts[TEST]}
    return {split: sorted(names) for split, names in split_of.items() if names}


def _about(counts: Mapping[str, int], target: float) -> list[str]:
    """Returns books with about so many windows together, and never more than half of all."""
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return fitting(order, counts, target) or [order[-1]]


def fitting(order: Sequence[T], counts: Mapping[T, int], target: float) -> list[T]:
    """Returns members, taken in an order, that have about `target` items together; never all."""
    members: list[T] = []
    total = 0
    for member in order:
        if total + counts[member] <= 1.1 * target and len(members) + 1 < len(order):
            members.append(member)
            total += counts[member]
    return members

"""The order that a language model writes for the passages of a window, and windows over a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

_MARKED = re.compile(r"\[\s*(\d{1,9})\s*\]")
# Numbers without brackets count where there is nothing else, such as "2 > 1 > 3" or "2, 1, 3".
_BARE = re.compile(r"[\d\s>,;.=\u2265]+")
# What a model has thought aloud begins and ends so.
_THINKS = re.compile(r"\s*<think(?:ing)?>")
_THOUGHT = re.compile(r"</think(?:ing)?>")


class Order(NamedTuple):
    """An order of n passages.

    Attributes:
        places: each of 0 to n - 1 once, best first.
        reading: whether the answer was such an order ("whole"), an order after repair ("repaired"),
            or none at all ("none").
    """

    places: list[int]
    reading: Literal["whole", "repaired", "none"]


def spoken(text: str) -> str:
    """An answer without what a model has thought aloud before it; empty where it only thinks."""
    *thoughts, said = _THOUGHT.split(text)
    return "" if not thoughts and _THINKS.match(said) else said.strip()


def read_order(text: str, count: int) -> Order:
    """The order that an answer such as "[2] > [1] > [3]" gives to passages 1 to `count`.

    Of a number that occurs twice the first place counts, one that is no passage's is ignored, and
    passages that are not named follow in the order they had (RankGPT, Sun et al. 2023, §3).

    Args:
        text: what a model has written.
        count: number of passages, at least 1.
    """
    said = spoken(text)
    written = _MARKED.findall(said)
    if not written and _BARE.fullmatch(said):
        written = re.findall(r"\d{1,9}", said)
    named = [int(number) - 1 for number in written]
    known = list(dict.fromkeys(place for place in named if 0 <= place < count))
    rest = [place for place in range(count) if place not in set(known)]
    if not known:
        return Order(rest, "none")
    return Order([*known, *rest], "whole" if named == known and not rest else "repaired")


def windows(count: int, size: int, step: int) -> Iterator[slice]:
    """Windows over a list from its end to its beginning, each a step before the last.

    The best size - step of a window are in the next one, too. The last window begins at the top,
    whatever the length of the list.

    Args:
        count: length of the list.
        size: passages in a window, more than `step`.
        step: by how much a window is moved.
    """
    end = count
    while end > 1:
        start = max(0, end - size)
        yield slice(start, end)
        if start == 0:
            return
        end -= step

"""The aligner beside slow plain ones."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.building.relic.alignment import COMMON, seeds
from irtoolkit.building.relic.extension import DIFFERENT, EQUAL, agreement, chain
from irtoolkit.building.relic.quotations import shares_run
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.words import GRAM, Words, code_points

TEXTS = st.text("abc ", max_size=9)
WORDS = st.lists(st.sampled_from(["one", "two", "three"]), max_size=14)


def plain_agreement(one: str, other: str) -> tuple[int, int]:
    @cache
    def score(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return -DIFFERENT * (i + j)
        pair = EQUAL if one[i - 1] == other[j - 1] else -DIFFERENT
        return max(
            score(i - 1, j - 1) + pair, score(i - 1, j) - DIFFERENT, score(i, j - 1) - DIFFERENT
        )

    places = [(i, j) for i in range(len(one) + 1) for j in range(len(other) + 1)]
    return min(places, key=lambda at: (-score(*at), at[0] + at[1], at[0]))


@given(TEXTS, TEXTS)
def test_agreement_is_the_best_of_all_alignments(one: str, other: str) -> None:
    assert agreement(code_points(one), code_points(other)) == plain_agreement(one, other)


@given(WORDS, WORDS)
def test_seeds_are_all_shared_runs(one: list[str], other: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        book = ShelvedBook.put(Path(folder) / "book", "book", [" ".join(other)])
        here, there = seeds(Words.of(" ".join(one)), book)
    runs = [tuple(other[at : at + GRAM]) for at in range(len(other) - GRAM + 1)]
    plain = [
        (i, j)
        for i in range(len(one) - GRAM + 1)
        for j, run in enumerate(runs)
        if run == tuple(one[i : i + GRAM]) and runs.count(run) <= COMMON
    ]
    assert list(zip(here.tolist(), there.tolist(), strict=True)) == plain


PAIRS = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=30, unique=True)


@given(PAIRS, st.integers(1, 8), st.integers(0, 4))
def test_chains_are_those_of_the_plain_rule(
    pairs: list[tuple[int, int]], gap: int, drift: int
) -> None:
    pairs = sorted(pairs)
    last: dict[int, int] = {}
    plain: list[int] = []
    for number, (i, j) in enumerate(pairs):
        before = [
            (abs((i - pairs[other][0]) - (j - pairs[other][1])), -other, name)
            for name, other in last.items()
            if 1 <= i - pairs[other][0] <= gap and 1 <= j - pairs[other][1] <= gap
        ]
        fitting = sorted(one for one in before if one[0] <= drift)
        name = fitting[0][2] if fitting else len(last)
        last[name] = number
        plain.append(name)
    here = np.array([i for i, _ in pairs], np.int64)
    there = np.array([j for _, j in pairs], np.int64)
    assert chain(here, there, gap, drift).tolist() == plain


@given(st.text("ab", max_size=12), st.text("ab", max_size=12), st.integers(1, 5))
def test_a_shared_run_is_a_common_substring(one: str, other: str, length: int) -> None:
    substrings = {one[a:b] for a in range(len(one)) for b in range(a + 1, len(one) + 1)}
    longest = max((len(s) for s in substrings if s in other), default=0)
    assert shares_run(one, other, length) == (longest >= length)

"""Splits of examples: sets of questions and passages stay together, and dev has about its share."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.building.egret.gather import Groups, _about

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(20, 32)), max_size=30)


def slow_sets(pairs: list[tuple[int, int]]) -> list[set[int]]:
    sets: list[set[int]] = []
    for pair in pairs:
        touched = [one for one in sets if one & {*pair}]
        sets = [one for one in sets if one not in touched] + [{*pair}.union(*touched)]
    return sets


@given(PAIRS)
def test_groups_are_joined_as_by_plain_sets(pairs: list[tuple[int, int]]) -> None:
    groups = Groups()
    for pair in pairs:
        groups.join(pair)
    roots = [{groups.root(member) for member in one} for one in slow_sets(pairs)]
    assert all(len(found) == 1 for found in roots)
    assert len({root for found in roots for root in found}) == len(roots)


@given(
    st.dictionaries(st.integers(0, 99), st.integers(1, 50), min_size=1, max_size=30),
    st.floats(0.02, 0.5),
)
def test_dev_has_some_and_never_all(counts: dict[int, int], share: float) -> None:
    dev = _about(Counter(counts), share)
    assert dev
    assert len(dev) < len(counts) or len(counts) == 1
    total = sum(counts[group] for group in dev)
    least = min(counts.values())
    assert total <= max(least, 1.1 * share * sum(counts.values()))
    if max(counts.values()) == least and len(counts) > 1:
        assert total + least > share * sum(counts.values()) or len(dev) == len(counts) - 1

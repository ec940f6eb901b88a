"""Splits by book."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.splits import split_books


def test_about_a_tenth_each() -> None:
    counts = {"a": 500, "b": 300, "c": 90, "d": 60, "e": 40, "f": 10}
    parts = split_books(counts)
    sizes = {split: sum(counts[name] for name in names) for split, names in parts.items()}
    assert sum(sizes.values()) == 1000
    assert 80 <= sizes["test"] <= 110
    assert 80 <= sizes["val"] <= 110
    assert sorted(name for names in parts.values() for name in names) == sorted(counts)


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        ({"a": 5}, {"test": ["a"]}),
        ({"a": 5, "b": 3}, {"train": ["a"], "test": ["b"]}),
        ({"a": 5, "b": 3, "c": 1}, {"train": ["a"], "val": ["b"], "test": ["c"]}),
    ],
)
def test_few_books(counts: dict[str, int], parts: dict[str, list[str]]) -> None:
    assert split_books(counts) == parts


@pytest.mark.parametrize(
    ("val", "test", "said"),
    [(["x"], [], "no window quotes a book x"), (["a"], ["a"], "in val and in test")],
)
def test_books_that_cannot_be(val: list[str], test: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        split_books({"a": 1, "b": 1}, val, test)

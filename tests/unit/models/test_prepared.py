"""Items that are made in a thread before they are needed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from irtoolkit.base.threads import prepared
from irtoolkit.models.outputs import are_finite


def test_items_come_in_order_from_another_thread_and_turns_are_restored() -> None:
    makers: list[str] = []

    def make() -> Iterator[int]:
        for number in range(20):
            makers.append(threading.current_thread().name)
            yield number

    before = sys.getswitchinterval()
    assert list(prepared(make())) == list(range(20))
    assert set(makers) != {threading.current_thread().name}
    assert sys.getswitchinterval() == before


def test_an_error_comes_where_its_item_would() -> None:
    def make() -> Iterator[int]:
        yield 1
        raise ValueError("the second")

    items = prepared(make())
    assert next(items) == 1
    with pytest.raises(ValueError, match="the second"):
        next(items)


def test_a_number_that_is_not_finite_is_found_wherever_it_is() -> None:
    rows = [(np.zeros(3, np.float32), np.array([1])) for _ in range(600)]
    assert are_finite(rows)
    assert are_finite([])
    for place in (0, 255, 256, 599):
        rows[place][0][1] = np.inf
        assert not are_finite(rows)
        rows[place][0][1] = 0

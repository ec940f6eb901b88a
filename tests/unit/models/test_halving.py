"""Work that does not fit into a GPU's memory is done in halves."""

from __future__ import annotations

import pytest
import torch

from irtoolkit.base.errors import InputError
from irtoolkit.models.batches import in_halves


@pytest.mark.parametrize("most", [1, 2, 3, 9, 10])
def test_each_item_is_done_once_and_in_order(most: int) -> None:
    done: list[int] = []

    def work(first: int, last: int) -> None:
        if last - first > most:
            raise torch.OutOfMemoryError("lacking")
        done.extend(range(first, last))

    in_halves(work, 3, 13, "the items")
    assert done == list(range(3, 13))


def test_what_does_not_fit_alone_is_refused() -> None:
    def work(first: int, last: int) -> None:
        raise torch.OutOfMemoryError("lacking")

    with pytest.raises(InputError, match="one of the items"):
        in_halves(work, 0, 8, "the items")


def test_other_errors_are_not_halved() -> None:
    def work(first: int, last: int) -> None:
        raise ValueError(f"{first}-{last}")

    with pytest.raises(ValueError, match="0-8"):
        in_halves(work, 0, 8, "the items")

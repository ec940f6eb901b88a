"""GPU work split into halves when it does not fit into memory."""

from __future__ import annotations

from collections.abc import Callable

from irtoolkit.base.errors import InputError


def in_halves(
    work: Callable[[int, int], object],
    first: int,
    last: int,
    what: str | Callable[[int], InputError],
    halved: Callable[[int], object] = lambda size: None,
) -> None:
    """Does the work of the items from `first` to before `last`; in halves if memory is too small.

    Args:
        work: does some of the items, given the first and the one past the last.
        first, last: the items.
        what: their name for messages; or a function that makes the error for one that does not fit.
        halved: called with the number of items of a half before it is tried.

    Raises:
        InputError: memory is too small for one item.
    """
    import torch

    try:
        work(first, last)
        return
    except torch.OutOfMemoryError:
        if last - first <= 1:
            raise (_lacking(what) if isinstance(what, str) else what(first)) from None
    # Outside the handler, which holds on to what the work had in memory.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = (first + last) // 2
    halved(middle - first)
    in_halves(work, first, middle, what, halved)
    in_halves(work, middle, last, what, halved)


def _lacking(what: str) -> InputError:
    return InputError(
        f"the GPU's memory does not suffice for one of {what}", remedy="set device=cpu"
    )

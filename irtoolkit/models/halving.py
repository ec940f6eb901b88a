"""Work on a GPU in halves, where its memory does not suffice for the whole."""

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
    """Does the work of the items from `first` to before `last`; in halves where memory lacks.

    Args:
        work: does some of the items, as their first and the one past their last.
        first, last: the items.
        what: what they are, for messages; or what makes the error for one that does not fit.
        halved: called with the number of items of a half before it is tried.

    Raises:
        InputError: memory does not suffice for one item.
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

"""The decision whether compiled loops are worth loading.

To load them takes a process half a second, and the first time after an install ten, while numpy and
Python do little work in less. So what has both ways asks here: a process works without compiled loops
until what it has done so would have paid for loading them, and then works with them alone. Both ways
give the same bytes.
"""

from __future__ import annotations

# Steps up to which a process works without compiled loops. A step takes numpy about 12 nanoseconds.
STEPS = 1 << 26


class Work:
    """The work of this process without compiled loops.

    Attributes:
        steps: how many steps; from `STEPS` on compiled loops are used.
    """

    steps = 0


def is_worth_loading(steps: int) -> bool:
    """Returns whether to do a piece of work by compiled loops, given its steps without.

    These count as done.
    """
    if Work.steps < STEPS:
        Work.steps += steps
    return Work.steps >= STEPS


def would_load(steps: int) -> bool:
    """Returns whether so many steps more would be worth compiled loops; none counts as done."""
    return Work.steps + steps >= STEPS


def load() -> None:
    """Makes this process use compiled loops from now on; for processes that run long."""
    Work.steps = STEPS

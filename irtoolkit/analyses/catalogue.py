"""The analyses by name: a module of this package with a subclass of `Analysis` adds one."""

from __future__ import annotations

import sys
from functools import cache

from irtoolkit.analyses.base import Analysis
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean


@cache
def analyses() -> dict[str, type[Analysis]]:
    """Every analysis by name."""
    return {
        value.name: value
        for module in modules(sys.modules[__package__])
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Analysis)
        and value.__module__ == module.__name__
        and "name" in vars(value)
    }


def find_analysis(name: str) -> type[Analysis]:
    """An analysis by name.

    Raises:
        InputError: there is no such analysis; names the nearest ones.
    """
    known = analyses()
    if name not in known:
        raise InputError(
            f"no analysis {name!r}",
            remedy=f"{did_you_mean(name, known)}irtoolkit analyse --list lists them",
        )
    return known[name]

"""ranx compiles for minutes what the tests call once: here without optimisation, in half the time."""

from __future__ import annotations

from typing import Any

# Modules whose functions are not ours, and not kept on disk.
PLAIN = ("ranx.", "numba.typed.")


def hasten() -> None:
    """Lets numba leave out optimisation for ranx; our own kernels are compiled as users have them."""
    from numba import config
    from numba.core.dispatcher import Dispatcher

    compiled = Dispatcher.compile

    def plainly(self: Any, signature: Any) -> Any:
        if not self.py_func.__module__.startswith(PLAIN):
            return compiled(self, signature)
        before = config.OPT
        config.OPT = type(before)(0)
        try:
            return compiled(self, signature)
        finally:
            config.OPT = before

    Dispatcher.compile = plainly

"""Retrievers: ways of scoring candidates. A retriever is a Retriever subclass in a module here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.base import Retriever


def retrievers() -> dict[str, type[Retriever]]:
    """Every retriever by name."""
    found: dict[str, type[Retriever]] = {}
    for module in modules(sys.modules[__name__]):
        for value in vars(module).values():
            # A name that is only inherited is another one's.
            own = isinstance(value, type) and vars(value).get("name")
            if own and issubclass(value, Retriever):
                found[value.name] = value
    return found


def create(name: str, settings: Mapping[str, Any]) -> Retriever:
    """A retriever by name.

    Raises:
        InputError: no such retriever, or a setting it does not have or take.
    """
    known = retrievers()
    if name not in known:
        raise InputError(f"no retriever {name!r}", remedy=f"there are {', '.join(known)}")
    return known[name].with_settings(settings)

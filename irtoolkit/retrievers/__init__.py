"""Retrievers, which score the candidates of queries: a `Retriever` subclass in a module here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irtoolkit.retrievers.registry import create_retriever as create_retriever
    from irtoolkit.retrievers.registry import retrievers as retrievers

__all__ = ["create_retriever", "retrievers"]


def __getattr__(name: str) -> Any:
    # A search of a kept index needs no more than its own module.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("irtoolkit.retrievers.registry"), name)

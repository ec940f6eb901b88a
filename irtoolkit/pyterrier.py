"""The PyTerrier integration by a short name; see `irtoolkit.integrations.pyterrier`.

PyTerrier imports this module while it is imported itself, so the names are loaded when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import check_installed

if TYPE_CHECKING:
    from irtoolkit.integrations.pyterrier import Dataset as Dataset
    from irtoolkit.integrations.pyterrier import Index as Index
    from irtoolkit.integrations.pyterrier import IndexRetriever as IndexRetriever
    from irtoolkit.integrations.pyterrier import IndexTextLoader as IndexTextLoader
    from irtoolkit.integrations.pyterrier import Provider as Provider
    from irtoolkit.integrations.pyterrier import Reranker as Reranker
    from irtoolkit.integrations.pyterrier import Retriever as Retriever
    from irtoolkit.integrations.pyterrier import TextLoader as TextLoader

check_installed("pyterrier", "pyterrier")

__all__ = [
    "Dataset",
    "Index",
    "IndexRetriever",
    "IndexTextLoader",
    "Provider",
    "Reranker",
    "Retriever",
    "TextLoader",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'irtoolkit.pyterrier' has no attribute {name!r}")
    from irtoolkit.integrations import pyterrier

    return getattr(pyterrier, name)

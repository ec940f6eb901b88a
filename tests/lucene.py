"""Pyserini's own classes, imported without a network."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from irtoolkit.retrievers.lucene import java

# conftest.py skips what has this mark where there is no Java for it.
with_java = pytest.mark.lucene


@cache
def lacking() -> str | None:
    """What is not here that Lucene needs, or None."""
    return java.missing_java()


def _empty(name: str) -> dict[str, Any]:
    if not name.isupper():
        raise AttributeError(name)
    return {}


def import_pyserini() -> Any:
    """Pyserini's searchers and indexer, as its users import them.

    Pyserini 2 downloads its list of prebuilt indexes when it is imported; here the list is empty.
    """
    os.environ.setdefault("OPENAI_API_KEY", "unused")  # a client is made when it is imported
    java.java_class("java.lang.String")  # Java as irtoolkit starts it
    if "pyserini.prebuilt_index_info" not in sys.modules:
        empty = ModuleType("pyserini.prebuilt_index_info")
        vars(empty)["__getattr__"] = _empty
        sys.modules[empty.__name__] = empty
    index = pytest.importorskip("pyserini.index.lucene")
    search = pytest.importorskip("pyserini.search.lucene")
    analysis = pytest.importorskip("pyserini.analysis")
    return SimpleNamespace(
        LuceneIndexer=index.LuceneIndexer,
        LuceneSearcher=search.LuceneSearcher,
        LuceneImpactSearcher=search.LuceneImpactSearcher,
        analyzer=analysis.get_lucene_analyzer,
    )

"""Names of systems as people write them: BM25 for bm25, tf-idf for tfidf, splade for SPLADE."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from irtoolkit.models.presets import aliases, preset_name, presets
from irtoolkit.retrievers.registry import retrievers

# Systems under names that others know them by: a retriever and its settings.
KNOWN_AS: dict[str, tuple[str, dict[str, Any]]] = {
    # What Anserini and Pyserini do by default.
    "bm25-anserini": (
        "bm25",
        {"form": "lucene", "k1": 0.9, "b": 0.4, "analyzer": "lucene-en", "lengths": "lucene"},
    )
}


def general_name(name: str) -> str | None:
    """Returns the name of a retriever or model that a name means, in any case; None if it means none.

    Dashes, points, underscores and blanks do not count either. A name that is right as it is comes
    first, then retrievers, then models. Retrievers are not listed, which would import all of them.
    """
    if _is_retriever(name) or preset_name(name) is not None:
        return name
    lowered = name.lower()
    variants = (lowered, re.sub(r"[_ ]", "-", lowered), _bare(name))
    return next(filter(_is_retriever, variants), None) or nearly(name, (*presets(), *aliases()))


def nearly(name: str, names: Iterable[str]) -> str | None:
    """Returns the one of some names that differs in case, dashes, points or blanks only, or None."""
    same = {known for known in names if _bare(known) == _bare(name)}
    return same.pop() if len(same) == 1 else None


def _is_retriever(name: str) -> bool:
    return name in retrievers() or name in KNOWN_AS


def _bare(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.lower())

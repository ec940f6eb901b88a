"""Documents that a benchmark excludes for a query: no candidates of it, and left out of runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from irtoolkit.runs import Qrels

# Query id to the ids of the documents that are excluded for it.
Excluded = Mapping[str, Collection[str]]


def excluded_grade(definitions: Mapping[Any, Any]) -> Any:
    """Returns the grade whose definition begins with "excluded"; None if there is none."""
    words = {grade: str(text).lower() for grade, text in definitions.items()}
    return next((grade for grade, text in words.items() if text.startswith("excluded")), None)


def docs_of_grade(qrels: Qrels, grade: float) -> dict[str, set[str]]:
    """Returns query id to the documents that have a grade."""
    docs: dict[str, set[str]] = {}
    for row in qrels:
        if row.relevance == grade:
            docs.setdefault(row.query_id, set()).add(row.doc_id)
    return docs

"""Conversion of numba's nested dicts, which ranx's objects hold, to lists.

If they are read item by item from Python, each process compiles for seconds before the first one;
the compiled functions here are cached, and read a million rows in a third of a second.
"""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def columns(nested: Any) -> tuple[list[str], list[int], list[str], list[Any]]:
    """Returns queries, the number of documents of each, and the documents and values of all, end to end.

    Args:
        nested: numba's typed dict of {query id: {document id: value}}.
    """
    queries, counts = [], []
    docs, values = [], []
    for query, valued in nested.items():
        queries.append(query)
        counts.append(len(valued))
        for doc, value in valued.items():
            docs.append(doc)
            values.append(value)
    return queries, counts, docs, values

"""Documents as Qdrant's points: their ids, filters by them, and their scores."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtoolkit.retrievers.vectors import Vectors, unit

# Points have numbers or UUIDs, so that of a document is made of its id.
_SPACE = uuid.UUID("6f1bb3f0-4a0e-5c53-9a4e-8d0a57f6d1c2")


@dataclass(frozen=True)
class IdFilter:
    """How documents are picked by their ids.

    Attributes:
        field: the field of the payload with the ids, or "_id" for those of the points.
        ours: whether irtoolkit has made the collection.
        number: whether the field has numbers.
    """

    field: str
    ours: bool
    number: bool

    def of(self, ids: Sequence[str], *, but: bool = False) -> Any:
        """A filter for documents, or for all `but` them."""
        from qdrant_client import models

        condition: Any
        if self.ours:
            condition = models.HasIdCondition(has_id=[point_of(doc_id) for doc_id in ids])
        elif self.field == "_id":
            condition = models.HasIdCondition(has_id=[p for p in map(_own, ids) if p is not None])
        else:
            numbers: list[Any] = (
                [int(i) for i in ids if i.isdecimal()] if self.number else list(ids)
            )
            condition = models.FieldCondition(key=self.field, match=models.MatchAny(any=numbers))
        return models.Filter(**{"must_not" if but else "must": [condition]})


def compared(query: Vectors, docs: Vectors, distance: str) -> Vectors:
    """Scores by one of Qdrant's distances, the same for equal vectors wherever they are.

    Args:
        query: (dimensions,).
        docs: (n, dimensions).
        distance: Qdrant's name of it.

    Returns:
        (n,) in double precision; higher is better.
    """
    if distance == "Cosine":
        query, docs = unit(query), unit(docs)
    if distance in ("Cosine", "Dot"):
        products: Vectors = (docs * query).sum(axis=1)
        return products
    apart = np.abs(docs - query)
    distances: Vectors = (
        apart.sum(axis=1) if distance == "Manhattan" else np.sqrt((apart**2).sum(axis=1))
    )
    return -distances


def point_of(doc_id: str) -> str:
    """The id of a document's point."""
    return str(uuid.uuid5(_SPACE, doc_id))


def _own(doc_id: str) -> int | str | None:
    """A document's id as that of a point; None where no point can have it."""
    if doc_id.isdecimal():
        return int(doc_id)
    try:
        return str(uuid.UUID(doc_id))
    except ValueError:
        return None


def id_of(point: Any, id_filter: IdFilter) -> str:
    return str(point.id if id_filter.field == "_id" else (point.payload or {}).get(id_filter.field))

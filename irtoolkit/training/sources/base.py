"""Base class of the sources of training rows."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers.texts import view
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage


class TextSink(Protocol):
    """Receives the texts of a source; queries and documents are numbered from 0 in their order."""

    def query(self, query_id: str, text: str) -> None:
        """Receives the next query."""

    def doc(self, doc_id: str, text: str) -> None:
        """Receives the next document."""


@dataclass(frozen=True, eq=False)
class Links:
    """The rows of a source, by the numbers of its queries and documents.

    Attributes:
        query_of, golds: (n,) query and relevant document of each row.
        groups: (n,) group of each row.
        pool_of: (q,) pool of each query.
        pools: the documents of each pool, ascending.
        ranked: the documents of each query in a run, best first; None unless negatives are mined.
        negatives: (n, 1) negatives that the source itself gives; None if it gives none.
        lines: (n,) line of each row in the source's file; None if there is no file.
        relevant: queries and documents relevant to them, two parallel arrays; None if the rows have
            all of them.
    """

    query_of: Ints
    golds: Ints
    groups: Ints
    pool_of: Ints
    pools: Ragged
    ranked: Ragged | None = None
    negatives: Ints | None = None
    lines: Ints | None = None
    relevant: tuple[Ints, Ints] | None = None

    @property
    def judged(self) -> tuple[Ints, Ints]:
        """Queries and documents relevant to them, two parallel arrays."""
        return (self.query_of, self.golds) if self.relevant is None else self.relevant

    def parts(self) -> Iterator[Ints]:
        """Yields the arrays that decide the rows."""
        yield from (self.query_of, self.golds, self.groups, self.pool_of)
        yield from (self.pools.offsets, self.pools.values)
        if self.ranked is not None:
            yield from (self.ranked.offsets, self.ranked.values)
        if self.negatives is not None:
            yield self.negatives
        if self.relevant is not None:
            yield from self.relevant


class RowSource(ABC):
    """A source of training rows.

    Attributes:
        what: name of the source, for messages.
    """

    what: str = ""

    def __init__(self, stage: Stage, join: str) -> None:
        """Creates the source of a stage.

        Args:
            stage: the stage to train.
            join: separator of the segments of a text.
        """
        self.stage, self._join = stage, join

    @abstractmethod
    def read(self, out: TextSink) -> Links:
        """Passes all texts to a sink and returns the rows. It may be called again.

        Raises:
            InputError: there are no rows, or one is not valid.
        """

    def key(self) -> str:
        """Returns the SHA-256 of everything that the source reads."""
        with tqdm(desc=f"hashing {self.what}", unit="text", disable=None, leave=False) as bar:
            hashing = _HashingSink(bar)
            links = self.read(hashing)
        for part in links.parts():
            hashing.digest.update(f"{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        return hashing.digest.hexdigest()

    def _query(self, record: Any) -> str:
        """Returns the text of a query record under the stage's view."""
        return self._join.join(view(record, self.stage.query))

    def _doc(self, record: Any) -> str:
        """Returns the text of a document record under the stage's view."""
        return self._join.join(view(record, self.stage.doc))

    def _check_mining(self) -> None:
        if self.stage.negatives == "mined":
            raise InputError(
                f"negatives=mined with source={self.stage.source}, for which there are no runs",
                remedy="negatives are mined for the queries of a dataset: source=dataset",
            )


class _HashingSink:
    """A sink that hashes the texts and discards them."""

    def __init__(self, bar: Any) -> None:
        self.digest, self._bar = hashlib.sha256(), bar

    def query(self, query_id: str, text: str) -> None:
        self._add("query", query_id, text)

    def doc(self, doc_id: str, text: str) -> None:
        self._add("doc", doc_id, text)

    def _add(self, kind: str, name: str, text: str) -> None:
        self.digest.update(f"{kind} {len(name)} {len(text)} {name}{text}".encode())
        self._bar.update()


def required(stage: Stage, name: str) -> str:
    """Returns the value of a setting that the stage's source requires.

    Raises:
        InputError: it is empty.
    """
    value = getattr(stage, name)
    if not value:
        raise InputError(f"source={stage.source} without {name}", remedy=f"give {name}=...")
    return str(value)

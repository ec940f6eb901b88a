"""Training rows from the judged queries of a dataset, and of further ones beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources.base import Links, RowSource, TextSink
from irtoolkit.training.sources.judged import JudgedSource


class ExtendedSource(RowSource):
    """Rows of a dataset, then of each dataset in `extra`.

    Each dataset keeps its own candidates. The ids of the further datasets' queries and documents
    begin with the dataset, so that no two mean the same.
    """

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        names = further(stage)
        for name in names:
            if name == stage.dataset or names.count(name) > 1:
                raise InputError(f"extra={stage.extra}: {name} is trained on already")
        if names and stage.negatives == "mined":
            raise InputError(
                f"extra={stage.extra} with negatives=mined: the run ranks documents of"
                f" {stage.dataset} only",
                remedy="negatives=random or none",
            )
        alone = replace(stage, extra=None)
        self._first = JudgedSource(alone, join)
        self._others = [JudgedSource(replace(alone, dataset=name), join) for name in names]
        self.what = " + ".join(part.what for part in (self._first, *self._others))

    def read(self, out: TextSink) -> Links:
        if not self._others:
            return self._first.read(out)
        sink = _NamingSink(out)
        parts = [self._first.read(sink)]
        for source in self._others:
            queries, docs = sink.begin(f"{source.what}:")
            parts.append(_shifted(source.read(sink), parts[-1], queries, docs))
        return _joined(parts)


def further(stage: Stage) -> list[str]:
    """Returns the ids of the further datasets of a stage."""
    return [name.strip() for name in (stage.extra or "").split(",") if name.strip()]


def is_further(stage: Stage, query_ids: Ids) -> NDArray[np.bool_]:
    """Returns (n,) whether each query of a stage's rows is of a further dataset."""
    flags = np.zeros(len(query_ids), np.bool_)
    for name in further(stage):
        flags |= np.strings.startswith(query_ids.astype(str), f"{name}:")
    return flags


class _NamingSink:
    """A sink that puts the dataset in front of ids, and counts queries and documents."""

    def __init__(self, out: TextSink) -> None:
        self._out, self._prefix = out, ""
        self._queries = self._docs = 0

    def begin(self, prefix: str) -> tuple[int, int]:
        """Begins the next dataset; returns the queries and the documents so far."""
        self._prefix = prefix
        return self._queries, self._docs

    def query(self, query_id: str, text: str) -> None:
        self._queries += 1
        self._out.query(self._prefix + query_id, text)

    def doc(self, doc_id: str, text: str) -> None:
        self._docs += 1
        self._out.doc(self._prefix + doc_id, text)


def _shifted(links: Links, before: Links, queries: int, docs: int) -> Links:
    """Returns links with numbers that follow those of the preceding datasets."""
    group = int(before.groups.max(initial=-1)) + 1
    judged_queries, relevant = links.judged
    return replace(
        links,
        query_of=links.query_of + queries,
        golds=links.golds + docs,
        groups=links.groups + group,
        pools=Ragged(links.pools.offsets, links.pools.values + docs),
        relevant=(judged_queries + queries, relevant + docs),
    )


def _joined(parts: list[Links]) -> Links:
    """Joins the links of several datasets, whose queries and documents are numbered in turn."""

    def all_of(*arrays: Ints) -> Ints:
        return np.concatenate(arrays)

    sizes = [part.pools.sizes for part in parts]
    first = np.cumsum([0, *map(len, sizes)])
    judged = [part.judged for part in parts]
    return Links(
        all_of(*(part.query_of for part in parts)),
        all_of(*(part.golds for part in parts)),
        all_of(*(part.groups for part in parts)),
        all_of(*(part.pool_of + shift for part, shift in zip(parts, first, strict=False))),
        Ragged(
            np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
            np.concatenate([part.pools.values for part in parts]),
        ),
        relevant=(
            all_of(*(queries for queries, _ in judged)),
            all_of(*(docs for _, docs in judged)),
        ),
    )

"""Runs and exact ranks of stored indexes, from shards in this process or in workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.ids import Segments, distinct_numbers, id_array
from irtoolkit.base.paths import StrPath
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.index_format import IndexFormat, Searcher
from irtoolkit.indexes.manifest import NAME, Manifest
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.spread import SpreadShards
from irtoolkit.runs import Run
from irtoolkit.runs.order import separate


def form_of(retriever: Any) -> IndexFormat:
    """How a retriever keeps its documents.

    Raises:
        InputError: it does not.
    """
    form: IndexFormat | None = retriever.index_format()
    if form is None:
        raise retriever.no_index()
    return form


@dataclass(frozen=True)
class OpenedBy:
    """Opens shards for a retriever, in whatever process; an `indexes.spread.Opener`.

    Attributes:
        retriever: a `Retriever` that keeps indexes.
    """

    retriever: Any

    def __call__(self, shards: Sequence[OpenShard], first: int) -> ShardSet:
        return form_of(self.retriever).shards(shards, first)


def spread_searcher(
    location: StrPath, manifest: Manifest, retriever: Any, workers: int
) -> Searcher:
    """Returns a searcher of an index in several workers."""
    shards = SpreadShards(location, manifest, OpenedBy(retriever), workers)
    return form_of(retriever).searcher(shards)


def bm25_searcher(manifest: Manifest, shards: Sequence[OpenShard], folder: Path) -> Searcher:
    """Returns what searches an index of BM25 with the settings that it was built with.

    Raises:
        DamagedIndexError: the manifest does not have them.
    """
    from irtoolkit.indexes.search import PostingsSearch
    from irtoolkit.retrievers.bm25_forms import BM25Weighting
    from irtoolkit.retrievers.weighted_postings import WeightedSearcher

    settings, postings = manifest.parameters, PostingsSearch.of(shards)
    try:
        return WeightedSearcher(settings, BM25Weighting.of(settings), postings)
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedIndexError(
            f"damaged: it has no parameters of bm25 ({error})", file=folder / NAME
        ) from None


def best_documents(searcher: Searcher, query: str, depth: int) -> tuple[list[str], list[float]]:
    """Returns the ids and scores of the best documents of one query, as `found_run` has them."""
    hits = searcher.search([(query,)], depth)
    scores: list[float] = separate(hits.scores).tolist()
    return searcher.shards.ids(hits.documents), scores


def found_run(
    searcher: Searcher,
    query_ids: Any,
    queries: Sequence[Segments],
    depth: int,
    *,
    fill: bool,
    name: str,
) -> Run:
    """The best documents of some queries, as a run of some name without ties."""
    hits = searcher.search(queries, depth, fill=fill)
    numbers, docs = distinct_numbers(hits.documents)
    run = Run.ordered(
        query_ids,
        hits.offsets,
        id_array(searcher.shards.ids(numbers)),
        docs.astype("int32"),
        hits.scores.astype("float32"),
        name,
    )
    return run.untied()


def found_ranks(
    searcher: Searcher,
    query_ids: Sequence[str],
    queries: Sequence[Segments],
    relevant: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, int]]:
    """The ranks of relevant documents over all documents, by query and document."""
    doc_ids = list(dict.fromkeys(doc for query in query_ids for doc in relevant.get(query, ())))
    places = zip(doc_ids, searcher.shards.places(doc_ids).tolist(), strict=True)
    numbers = {doc_id: number for doc_id, number in places if number >= 0}
    targets = [[doc for doc in relevant.get(query, ()) if doc in numbers] for query in query_ids]
    ranks = searcher.ranks(queries, [[numbers[doc] for doc in docs] for docs in targets])
    located = {
        query: {doc: rank for doc, rank in zip(docs, row, strict=True) if rank}
        for query, docs, row in zip(query_ids, targets, ranks, strict=True)
    }
    return {query: ranked for query, ranked in located.items() if ranked}

"""The terms of a task's documents: an index in the cache, or one in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array, translate
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.indexes.nearest import BestDocuments
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.retrievers.base import Block, Matches
from irtoolkit.retrievers.build_index import build
from irtoolkit.retrievers.postings_index import PostingsIndex, TermRetriever
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import no_text
from irtoolkit.runs.order import Ties, TopDocuments, separate
from irtoolkit.runs.top_k import TieOrder, first_unwritable

# Of a larger collection, no index is built for candidates that are a smaller share of it.
_LARGE, _SHARE = 100_000, 0.25
# Indexes in the cache that stay open in this process, by what decides their content.
_MOST_OPEN = 8
_OPEN: dict[tuple[str, ...], Sequence[PostingsShard]] = {}


@dataclass(frozen=True)
class TermIndex:
    """Documents that are searched by their terms.

    Attributes:
        searcher: searches them; see `irtoolkit.retrievers.postings_index.PostingsSearcher`.
        numbers: (D,) the number there of each document of a task.
        apart: whether the terms of candidates are weighed by these alone.
    """

    searcher: Any
    numbers: Ints
    apart: bool

    def block(self, documents: Ints, terms: CountedQueries) -> Block:
        """Returns what scores a candidate set.

        Args:
            documents: (c,) indices into the task's documents.
            terms: the terms of all queries.
        """
        numbers, searcher = self.numbers[documents], self.searcher
        size = searcher.shards.size
        if len(numbers) == size and (numbers == np.arange(size)).all():
            return lambda query: SearchedByTerms(searcher, terms.chosen(query))
        order = np.argsort(numbers, kind="stable")
        if len(documents) < size:
            searcher = searcher.within(numbers[order], terms.terms, apart=self.apart)
        if (numbers[1:] > numbers[:-1]).all():
            return lambda query: searcher.every(terms.chosen(query))
        back = np.argsort(order)

        def reordered(query: Ints) -> Matches:
            matches: Matches = searcher.every(terms.chosen(query))
            return Matches(matches.scores[:, back], lambda: matches.shared()[:, back])

        return reordered


class SearchedByTerms:
    """Queries over all documents of an index, which finds the best; a `SearchedBlock`.

    Args:
        searcher: searches the index.
        terms: the terms of the queries.
    """

    # How many documents score more, whatever their ids, the index does not tell.
    ties: ClassVar[Sequence[Ties]] = ("trec",)

    def __init__(self, searcher: Any, terms: CountedQueries) -> None:
        self._searcher, self._terms = searcher, terms

    def every(self) -> Matches:
        """Returns the scores of all documents."""
        matches: Matches = self._searcher.every(self._terms)
        return matches

    def best(
        self, tied: TieOrder, depth: int, rows: Ints, places: Ints, fill: bool = True
    ) -> BestDocuments:
        """Returns the best documents of each query, and the ranks of wanted ones."""
        hits: TopDocuments = self._searcher.found(self._terms, depth, fill=fill)
        counts = np.diff(hits.offsets)
        is_filled = np.arange(counts.max(initial=0)) < counts[:, None]
        documents = np.full(is_filled.shape, -1)
        scores: Any = np.zeros(is_filled.shape)
        documents[is_filled], scores[is_filled] = hits.documents, hits.scores
        if first_unwritable(scores) is None:
            queries = np.repeat(np.arange(len(counts)), counts)
            scores = scores.astype(np.float32)
            scores[is_filled] = separate(hits.scores, tied.id_keys[hits.documents], queries)
        ranks = self._ranks(rows, places)
        return BestDocuments(documents, scores, ranks, ranks - 1)

    def _ranks(self, rows: Ints, places: Ints) -> Ints:
        if not len(rows):
            return rows
        bounds = np.searchsorted(rows, np.arange(self._terms.size + 1))
        documents = [places[first:last].tolist() for first, last in pairwise(bounds.tolist())]
        ranks = self._searcher.standing(self._terms, documents)
        return np.array([rank for row in ranks for rank in row], np.int64)


def term_index(retriever: TermRetriever, task: Task) -> TermIndex:
    """Returns the index of a task's documents, or of their whole collection.

    It is taken from the cache, and built there if need be, where the collection has a key that tells
    whether it has changed, and where all of it is read or the candidates are most of it.
    """
    form, apart = PostingsIndex(retriever), retriever.statistics == "candidates"
    cached = _cached(retriever, form, task)
    if cached is not None:
        shards, ids = retriever.postings(cached), task.doc_ids
        if not task.ranks_corpus:
            ids = id_array([name for part in cached for name in part.docs.documents.ids])
    elif retriever.reads_corpus() and task.dataset is not None and not task.ranks_corpus:
        names, texts = zip(*task.collection(), strict=True)
        ids, shards = id_array(names), form.in_memory(texts, names)
    else:
        ids, shards = task.doc_ids, form.in_memory(task.docs, task.doc_ids.tolist())
    whole = len(ids) == len(task.doc_ids) and (ids is task.doc_ids or (ids == task.doc_ids).all())
    numbers = np.arange(len(ids)) if whole else translate(task.doc_ids, ids)
    if task.dataset is not None and (numbers < 0).any():
        raise no_text(task.doc_ids[np.argmax(numbers < 0)], task.dataset)
    return TermIndex(retriever.searcher(shards), numbers, apart)


def _cached(
    retriever: TermRetriever, form: PostingsIndex, task: Task
) -> Sequence[PostingsShard] | None:
    """Returns the shards of the collection's index in the cache; None where it is not built there."""
    dataset = task.dataset
    if dataset is None or dataset.docs_key is None:
        return None
    if not (retriever.reads_corpus() or _is_most(task, dataset)):
        return None
    settings = sorted(form.settings.items())
    key = str(cache_home()), dataset.id, dataset.docs_key, task.doc_view, repr(settings)
    parts = _OPEN.pop(key, None)
    if parts is None or not all(part.docs.documents.folder.is_dir() for part in parts):
        try:
            index = build(dataset, retriever.indexed(), task.doc_view, progress=False)
        except OSError:
            return None  # the cache cannot be written
        except InputError as error:
            if isinstance(error.__context__, OSError):
                return None
            raise
        parts = list(map(PostingsShard.load, index.open_shards))
    _OPEN[key] = parts  # the last that was used
    for older in list(_OPEN)[:-_MOST_OPEN]:
        _OPEN.pop(older, None)
    return parts


def _is_most(task: Task, dataset: Dataset) -> bool:
    """Whether the candidates are so much of their collection that indexing it all pays."""
    size = dataset.docs_count()
    return size is not None and (size <= _LARGE or len(task.doc_ids) >= _SHARE * size)

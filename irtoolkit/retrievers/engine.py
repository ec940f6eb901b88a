"""Ranking: blocks of scores in, a Run out, in one order everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array, rank_ids
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._scan import by_rows, first_unwritable, standing
from irtoolkit.retrievers.base import Block, Hits, Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.ordering import TieOrder, Ties, best_of
from irtoolkit.retrievers.task import Group, Task
from irtoolkit.runs import DEFAULT_TAG, Run

# Raised by hand when the same scores give another run: another order of ties, say.
FORMAT = 1
# Scores held at once: 2^25 doubles are 256 MiB. Up to 512 MiB of floats are, where a product of few
# queries would be slow.
BLOCK_CELLS = 1 << 25
# Queries at once from which on a product of matrices is fast.
_ROWS = 128
# Ids that are read in the time of one search among sorted ids.
_LOOKED_UP = 64
# Scores of a block that are looked through at once: 2^20 floats are 4 MiB.
SCANNED_CELLS = 1 << 20


@dataclass(frozen=True)
class Ranking:
    """The result of ranking a task.

    Attributes:
        run: the best documents of each query, to the depth that was asked for.
        ranks: query id to document id to rank, from 1, for every document whose rank was asked
            for and that is a candidate of the query. Ranks are exact over all candidates, whatever
            the depth. An approximate search has ranks of the documents that it found.
    """

    run: Run
    ranks: dict[str, dict[str, int]]


def rank(
    task: Task,
    retriever: Retriever,
    *,
    depth: int | None = None,
    ties: Ties = "trec",
    tag: str | None = None,
    progress: bool = True,
) -> Run:
    """Ranks the candidates of every query of a task.

    `tag` names the run, by default as the retriever; the rest is as for `rank_and_locate`.
    """
    run = rank_and_locate(task, retriever, {}, depth=depth, ties=ties, progress=progress).run
    return run if tag is None else run.named(tag)


def rank_and_locate(
    task: Task,
    retriever: Retriever,
    wanted: Mapping[str, Collection[str]],
    *,
    depth: int | None = None,
    ties: Ties = "trec",
    progress: bool = True,
) -> Ranking:
    """Ranks the candidates of every query of a task, and finds the exact ranks of some documents.

    Scores are made, used and dropped block by block. A full ranking is never held, so mean ranks
    over tens of millions of candidates take the memory of one block.

    Args:
        task: queries and candidates.
        retriever: what scores them; its name is the run's tag.
        wanted: query id to the ids of documents whose exact rank is wanted.
        depth: number of rows kept for each query; None keeps all.
        ties: order of equally scored documents: "trec" is trec_eval's, document id descending;
            "pool" is the order of the candidates in the dataset; "best" lists them as "trec" does,
            and gives each the best of their exact ranks, as if all others came after it. Where
            scores that differ in double precision, or tied scores under "pool", would be reordered
            by a reader of the run, they are separated by the smallest float32 step.
        progress: whether to show a progress bar on a terminal.

    Raises:
        InputError: no candidates at all, or a score that is not finite.
    """
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    if not any(len(group.docs) for group in task.groups):
        raise InputError(f"dataset {task.dataset_id} has no candidates to rank")
    scorer = retriever.scorer(task)
    most = retriever.most()
    if most is not None:
        depth = min(depth or most, most)
    names = rank_ids(task.doc_ids)
    listing = _Listing(task, names, ties, depth)
    locate = _Locator(task, wanted, names, ties)
    with tqdm(
        total=len(task.query_ids),
        desc=retriever.name or "ranking",
        unit="query",
        disable=None if progress else True,
        leave=None,  # a bar under another one is removed when it is done
    ) as bar:
        for queries, docs, block in _blocks(task, scorer, retriever):
            for asked, shown, scores in _scored(queries, docs, block(queries)):
                listing.show(shown)
                locate.show(shown)
                use = partial(_use, task, listing, locate, asked, scores)
                for found in by_rows(use, scores):
                    locate.take(found)
            bar.update(len(queries))
    run = listing.run(retriever.name or DEFAULT_TAG)
    return Ranking(replace(run, exact_ranks=locate.ranks or None), locate.ranks)


def _use(
    task: Task, listing: _Listing, locate: _Locator, queries: Ints, scores: ScoreMatrix, rows: slice
) -> list[tuple[int, int, int]]:
    """Lists and locates the documents of some rows; returns what `_Locator.find` does."""
    found = []
    # Few rows at a time stay in a core's cache while they are looked through.
    step = max(1, SCANNED_CELLS // max(1, scores.shape[1]))
    for start in range(rows.start, rows.stop, step):
        part = slice(start, min(start + step, rows.stop))
        _refuse_nonfinite(task, queries[part], listing.shown, scores[part])
        listing.add(queries[part], scores[part])
        found += locate.find(queries[part], scores[part])
    return found


class _Listing:
    """The rows of a run, which are filled in block by block."""

    def __init__(self, task: Task, names: Ints, ties: Ties, depth: int | None) -> None:
        """`names` are the places of the task's document ids in ascending order."""
        self._task, self._names, self._ties, self._depth = task, names, ties, depth
        self._counts = np.zeros(len(task.query_ids), dtype=np.int64)
        for group in task.groups:
            self._counts[group.queries] = min(len(group.docs), depth or len(group.docs))
        self._offsets = np.concatenate([[0], np.cumsum(self._counts)])
        self._docs = np.empty(self._offsets[-1], dtype=np.int32)
        self._scores = np.empty(self._offsets[-1], dtype=np.float32)
        self.shown = np.empty(0, np.int64)
        self._shown = self.shown.astype(np.int32)
        self._tied = TieOrder(self.shown, ties)
        self._short = False

    def show(self, docs: Ints) -> None:
        """Says which documents the scores are of that come next; all queries of a group share them."""
        if docs is not self.shown:
            self.shown, self._shown = docs, docs.astype(np.int32)
            self._tied = TieOrder(self._names[docs], self._ties)

    def add(self, queries: Ints, scores: ScoreMatrix) -> None:
        """Lists the best documents of some queries, given (q, c) scores."""
        places, kept = best_of(scores, self._tied, self._depth)
        width, begins = places.shape[1], self._offsets[queries]
        if width and (np.diff(begins) == width).all():  # their rows are one piece
            rows = slice(begins[0], begins[0] + places.size)
            np.take(self._shown, places, out=self._docs[rows].reshape(places.shape), mode="clip")
            self._scores[rows].reshape(places.shape)[:] = kept
        else:
            for begin, place, score in zip(begins, places, kept, strict=True):
                self._docs[begin : begin + width] = self._shown[place]
                self._scores[begin : begin + width] = score
        self._short = self._short or bool((self._counts[queries] > width).any())
        self._counts[queries] = width

    def run(self, tag: str) -> Run:
        """The run of all that was listed."""
        task, counts = self._task, self._counts
        if not self._short:
            return Run.ordered(
                task.query_ids, self._offsets, task.doc_ids, self._docs, self._scores, tag
            )
        # An approximate search has left rows empty.
        offsets = np.concatenate([[0], np.cumsum(counts)])
        kept = np.repeat(self._offsets[:-1] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Run.ordered(
            task.query_ids, offsets, task.doc_ids, self._docs[kept], self._scores[kept], tag
        )


class _Locator:
    """Finds the exact ranks of wanted documents in blocks of scores."""

    def __init__(
        self, task: Task, wanted: Mapping[str, Collection[str]], names: Ints, ties: Ties
    ) -> None:
        self.ranks: dict[str, dict[str, int]] = {}
        self._task, self._names, self._ties = task, names, ties
        self._docs = self._order = self._sorted = np.empty(0, np.int64)
        index = _places_of({doc_id for some in wanted.values() for doc_id in some}, task, names)
        self._wanted = {
            query: [index[doc_id] for doc_id in wanted.get(query_id, ()) if doc_id in index]
            for query, query_id in enumerate(task.query_ids)
        }

    def show(self, docs: Ints) -> None:
        """Says which documents the scores are of that come next."""
        if docs is not self._docs:  # the same for all queries of a group
            self._docs, self._order = docs, np.argsort(docs, kind="stable")
            self._sorted = docs[self._order]

    def find(self, queries: Ints, scores: ScoreMatrix) -> list[tuple[int, int, int]]:
        """(query, document, rank) of wanted documents, given (q, c) scores."""
        pairs = [(row, doc) for row, q in enumerate(queries.tolist()) for doc in self._wanted[q]]
        if not pairs or not len(self._docs):
            return []
        docs, order = self._docs, self._order
        rows, golds = np.array(pairs).T
        found = np.searchsorted(self._sorted, golds)
        at = order[np.minimum(found, len(docs) - 1)]
        candidate = docs[at] == golds
        rows, at = rows[candidate], at[candidate]
        ranks, equal = standing(scores, rows, at)
        ranks += 1
        for i in np.flatnonzero(equal > 1) if self._ties != "best" else ():
            row, place = rows[i], at[i]
            tied = np.flatnonzero(scores[row] == scores[row, place])
            pool = self._ties == "pool"
            names = tied if pool else self._names[docs[place]] - self._names[docs[tied]]
            ranks[i] += np.count_nonzero(names < (place if pool else 0))
        return list(zip(queries[rows].tolist(), docs[at].tolist(), ranks.tolist(), strict=True))

    def take(self, found: list[tuple[int, int, int]]) -> None:
        """Notes what has been found."""
        for query, doc, rank in found:
            self.ranks.setdefault(self._task.query_ids[query], {})[self._task.doc_ids[doc]] = rank


def _places_of(wanted: Collection[str], task: Task, names: Ints) -> dict[str, int]:
    """Where some documents are among a task's, those that are; without a table of all."""
    if not wanted or not len(names):
        return {}
    if len(wanted) * _LOOKED_UP > len(names):
        return {doc_id: i for i, doc_id in enumerate(task.doc_ids.tolist()) if doc_id in wanted}
    ascending = np.empty(len(names), np.int64)
    ascending[names] = np.arange(len(names))
    looked_up = id_array(list(wanted))
    found = np.searchsorted(task.doc_ids, looked_up, sorter=ascending)
    places = ascending[np.minimum(found, len(names) - 1)]
    here = task.doc_ids[places] == looked_up
    return dict(zip(looked_up[here].tolist(), places[here].tolist(), strict=True))


def _blocks(task: Task, scorer: Scorer, retriever: Retriever) -> Iterator[tuple[Ints, Ints, Block]]:
    most = retriever.most()
    for group in task.groups:
        if not len(group.docs):
            continue
        _refuse_twins(task, group)
        block = scorer(group.docs)
        cells = min(len(group.docs), most or len(group.docs))
        step = max(1, BLOCK_CELLS // cells)
        if step < _ROWS and retriever.has_single_scores():
            step = max(step, min(_ROWS, 4 * BLOCK_CELLS // cells))
        for start in range(0, len(group.queries), step):
            yield group.queries[start : start + step], group.docs, block


def _scored(
    queries: Ints, docs: Ints, found: ScoreMatrix | Hits
) -> Iterator[tuple[Ints, Ints, ScoreMatrix]]:
    """Queries that share the documents they have scores for: a block, or one query with its hits."""
    if not isinstance(found, Hits):
        yield queries, docs, found
        return
    for at, (places, scores) in enumerate(zip(found.places, found.scores, strict=True)):
        here = places >= 0
        yield queries[at : at + 1], docs[places[here]], scores[here][None, :]


def _refuse_twins(task: Task, group: Group) -> None:
    seen = np.bincount(group.docs)
    if seen.max() > 1:
        twin, query = task.doc_ids[np.argmax(seen)], task.query_ids[group.queries[0]]
        raise InputError(f"document {twin} stands twice among the candidates of query {query}")


def _refuse_nonfinite(task: Task, queries: Ints, docs: Ints, scores: ScoreMatrix) -> None:
    bad = first_unwritable(scores)
    if bad is None:
        return
    q, d = bad
    raise InputError(
        f"the score of document {task.doc_ids[docs[d]]} for query {task.query_ids[queries[q]]}"
        f" is {scores[q, d]}, which is no finite single-precision number",
        remedy="the model's weights or the texts are damaged",
    )

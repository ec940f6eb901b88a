"""Ranking: blocks of scores in, a Run out, in one order everywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, rank_ids
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._scan import first_unwritable, standing
from irtoolkit.retrievers.base import Block, Hits, Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.ordering import Ties, best
from irtoolkit.retrievers.task import Group, Task
from irtoolkit.runs import DEFAULT_TAG, Run

# Raised by hand when the same scores give another run: another order of ties, say.
FORMAT = 1
# Scores held at once: 2^25 doubles are 256 MiB.
BLOCK_CELLS = 1 << 25
# Scores of a block that are looked through at once: 2^21 floats are 8 MiB.
SCANNED_CELLS = 1 << 21


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
            "pool" is the order of the candidates in the dataset. Where scores that differ in
            double precision, or tied scores under "pool", would be reordered by a reader of the
            run, they are separated by the smallest float32 step.
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
        for queries, docs, block in _blocks(task, scorer, most):
            for asked, shown, scores in _scored(queries, docs, block(queries)):
                _refuse_nonfinite(task, asked, shown, scores)
                listing.add(asked, shown, scores)
                locate(asked, shown, scores)
            bar.update(len(queries))
    run = listing.run(retriever.name or DEFAULT_TAG)
    return Ranking(replace(run, exact_ranks=locate.ranks or None), locate.ranks)


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
        # The documents that were listed last, which all queries of a group share, and their names.
        self._shown = self._shown_names = np.empty(0, np.int64)
        self._short = False

    def add(self, queries: Ints, docs: Ints, scores: ScoreMatrix) -> None:
        """Lists the best documents of some queries, given (q, c) scores."""
        if docs is not self._shown:
            self._shown, self._shown_names = docs, self._names[docs]
        ranked = best(scores, self._shown_names, self._ties, self._depth)
        for query, (places, kept) in zip(queries, ranked, strict=True):
            rows = slice(self._offsets[query], self._offsets[query] + len(places))
            self._docs[rows], self._scores[rows] = docs[places], kept
            self._short = self._short or len(places) < self._counts[query]
            self._counts[query] = len(places)

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
        index = {doc_id: i for i, doc_id in enumerate(task.doc_ids)} if wanted else {}
        self._wanted = {
            query: [index[doc_id] for doc_id in wanted.get(query_id, ()) if doc_id in index]
            for query, query_id in enumerate(task.query_ids)
        }

    def __call__(self, queries: Ints, docs: Ints, scores: ScoreMatrix) -> None:
        pairs = [(row, doc) for row, q in enumerate(queries) for doc in self._wanted[int(q)]]
        if not pairs or not len(docs):
            return
        if docs is not self._docs:  # the same for all queries of a group
            self._docs, self._order = docs, np.argsort(docs, kind="stable")
            self._sorted = docs[self._order]
        order = self._order
        rows, golds = np.array(pairs).T
        found = np.searchsorted(self._sorted, golds)
        at = order[np.minimum(found, len(docs) - 1)]
        candidate = docs[at] == golds
        rows, at = rows[candidate], at[candidate]
        for row, place, greater, equal in zip(rows, at, *standing(scores, rows, at), strict=True):
            rank = 1 + int(greater)
            if equal > 1:
                tied = np.flatnonzero(scores[row] == scores[row, place])
                pool = self._ties == "pool"
                names = tied if pool else self._names[docs[place]] - self._names[docs[tied]]
                rank += int(np.count_nonzero(names < (place if pool else 0)))
            query_id = self._task.query_ids[queries[row]]
            self.ranks.setdefault(query_id, {})[self._task.doc_ids[docs[place]]] = rank


def _blocks(task: Task, scorer: Scorer, most: int | None) -> Iterator[tuple[Ints, Ints, Block]]:
    for group in task.groups:
        if not len(group.docs):
            continue
        _refuse_twins(task, group)
        block = scorer(group.docs)
        step = max(1, BLOCK_CELLS // min(len(group.docs), most or len(group.docs)))
        for start in range(0, len(group.queries), step):
            yield group.queries[start : start + step], group.docs, block


def _scored(
    queries: Ints, docs: Ints, found: ScoreMatrix | Hits
) -> Iterator[tuple[Ints, Ints, ScoreMatrix]]:
    """Queries that share the documents they have scores for: some of a block, or one with its hits."""
    if not isinstance(found, Hits):
        # Few rows at a time stay in the processor's cache while they are looked through.
        step = max(1, SCANNED_CELLS // len(docs))
        for start in range(0, len(queries), step):
            yield queries[start : start + step], docs, found[start : start + step]
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

"""Ranking: blocks of scores in, a Run out, in one order everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import tqdm
from irtoolkit.engines.engine import current
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.gpu_search import QUERIES
from irtoolkit.retrievers.listing import Listing, RankedAs
from irtoolkit.retrievers.parts import QueryPart, Ranker, RankParts, spread
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import DEFAULT_TAG, Run
from irtoolkit.runs.order import Ties, keys

# Scores held at once: 2^25 doubles are 256 MiB.
BLOCK_CELLS = 1 << 25


def rank(
    task: Task,
    retriever: Retriever,
    relevant: Mapping[str, Collection[str]] | None = None,
    *,
    depth: int | None = None,
    ties: Ties = "trec",
    fill: bool = True,
    tag: str | None = None,
    progress: bool = True,
) -> Run:
    """Ranks the candidates of every query of a task, and finds the exact ranks of some documents.

    Scores are made, used and dropped block by block. A full ranking is never held, so mean ranks
    over tens of millions of candidates take the memory of one block.

    Args:
        task: queries and candidates.
        retriever: what scores them.
        relevant: query id to the ids of documents whose exact rank is wanted.
        depth: number of rows kept for each query; None keeps all.
        ties: order of equally scored documents: "trec" is trec_eval's, see `irtoolkit.runs.order`;
            "pool" is the order of the candidates in the dataset; "best" lists them as "trec" does,
            and gives each the best of their exact ranks, as if all others came after it. Where
            scores that differ in double precision, or tied scores under "pool", would be reordered
            by a reader of the run, they are separated by the smallest float32 step.
        fill: whether documents that share no term with the query are listed, too, where a
            retriever matches terms and ranks a corpus. Pools are listed whole, and exact ranks are
            over all documents.
        tag: the name of the run, by default the retriever's.
        progress: whether to show a progress bar on a terminal.

    Returns:
        The best documents of each query. Its `exact_ranks` have every document whose rank is wanted
        and that is a candidate of the query: over all candidates, whatever the depth. An approximate
        search has ranks of the documents that it found.

    Raises:
        InputError: no candidates at all, or a score that is not finite.
    """
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    if not any(len(group.docs) for group in task.groups):
        raise InputError(f"dataset {task.dataset_id} has no candidates to rank")
    most = retriever.most()
    if most is not None:
        depth = min(depth or most, most)
    ranked = RankedAs(keys(task.doc_ids), relevant or {}, ties, depth, fill or task.pooled)
    listing = Listing(task, ranked)
    parts = _parts(task, retriever, listing)
    rank_all: Callable[..., None]
    if current().workers > 1 and len(parts) > 1 and not retriever.stays_here():
        if retriever.stores != "nothing":
            retriever.scorer(task)  # once, and not in each worker
        rank_all = partial(spread, RankParts(task, retriever, ranked))
    else:
        rank_all = Ranker(task, retriever.scorer(task), ranked.fill).rank
    with tqdm(
        total=len(task.query_ids),
        desc=retriever.name or "ranking",
        unit="query",
        disable=None if progress else True,
        leave=None,  # a bar under another one is removed when it is done
    ) as bar:
        rank_all(parts, listing, bar.update)
    return listing.run(tag or retriever.name or DEFAULT_TAG)


def _parts(task: Task, retriever: Retriever, listing: Listing) -> list[QueryPart]:
    """The parts that are scored at once; they are the same wherever that is done."""
    parts, most = [], retriever.most()
    for number, group in enumerate(task.groups):
        if not len(group.docs):
            continue
        cells = min(len(group.docs), most or len(group.docs))
        step = max(1, BLOCK_CELLS // cells)
        if listing.is_short(len(group.docs)) and retriever.searches(len(group.docs)):
            step = QUERIES
        count = len(group.queries)
        parts += [QueryPart(number, i, min(i + step, count)) for i in range(0, count, step)]
    return parts

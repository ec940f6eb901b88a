"""Which documents the queries of a dataset rank, and how many of them are kept."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.textwidth import printable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import Run
from irtoolkit.runs.order import IN_WORDS

# Rows kept of a ranking of a whole corpus; candidate pools are ranked whole.
CORPUS_DEPTH = 1000
# Queries that a warning names.
_NAMED = 3
# Scores nearer to 0 are the steps that separate ties at 0.
_NOTHING = 1e-30


def usual_depth(data: Dataset, depth: int | None) -> int | None:
    """Rows kept of each ranking of a dataset; None keeps all.

    Args:
        data: the dataset.
        depth: the depth that was asked for; None if none was.

    Raises:
        InputError: a depth below 1, or no whole number.
    """
    if depth is not None and not isinstance(depth, Integral):
        raise InputError(f"depth {depth!r} is not a whole number")
    if depth is not None and depth < 1:
        raise InputError(f"depth {depth} is not at least 1")
    return CORPUS_DEPTH if depth is None and not data.has("scoreddocs") else depth


def candidates_line(
    data: Dataset, task: Task, system: System, depth: int | None, run: Run | None = None
) -> str:
    """One line that says which candidates are ranked, how many, and to what depth.

    Args:
        data: the dataset.
        task: its task, before another run or a first stage narrows it.
        system: what ranks.
        depth: rows kept for each query; None keeps all.
        run: the run whose best documents are ranked again, if any.
    """
    if run is not None:
        sizes = np.minimum(np.diff(run.offsets), system.depth).tolist()
        return f"candidates: the best documents of the run {run.tag}, {_counted(sizes)} per query"
    sizes = [len(group.docs) for group in task.groups]
    cut = f", ranked to depth {depth:,}" if depth and depth < max(sizes, default=0) else ""
    if system.first is not None:
        cut = f"; the best {system.depth:,} by {system.first.name} are ranked again{cut}"
    if not data.has("scoreddocs"):
        excluded = len(data.excluded_docs)
        queries = number_of(excluded, "queries", ",")
        without = f", without those that are excluded for {queries}" if excluded else ""
        return f"{corpus_line(len(task.doc_ids), None)}{without}{cut}"
    # The scoreddocs of other packages are the list of a first stage.
    if data.about is not None or data.in_memory:
        return f"candidates: the dataset's pools, {_counted(sizes)} per query{cut}"
    return (
        f"candidates: the list of documents that comes with {data.id}, {_counted(sizes)} per query,"
        f" which is ranked again{cut}; --candidates corpus ranks all documents"
    )


def corpus_line(count: int, depth: int | None) -> str:
    """The line for a corpus.

    Args:
        count: number of documents.
        depth: rows kept for each query; None keeps all.
    """
    cut = f", ranked to depth {depth:,}" if depth and depth < count else ""
    return f"candidates: the corpus, {number_of(count, 'documents', ',')}{cut}"


def unmatched_line(run: Run, ties: str) -> str | None:
    """One line that names the queries without rows, or whose documents all score 0, or None.

    Args:
        run: the ranking of every query.
        ties: how the system orders documents with equal scores.
    """
    filled = np.diff(run.offsets) > 0
    if not filled.all():
        return _without_rows([str(name) for name in np.asarray(run.query_ids)[~filled]])
    rows = run.offsets[:-1][filled], run.offsets[1:][filled] - 1
    # Equal scores were separated by the smallest steps, downwards from 0.
    alike = (run.scores[rows[0]] == 0) & (np.abs(run.scores[rows[1]]) < _NOTHING)
    names = [str(name) for name in np.asarray(run.query_ids)[filled][alike]]
    if not names:
        return None
    listed_names = _shown(names)
    order = IN_WORDS if ties == "trec" else "in no order of relevance"
    if len(names) == 1:
        return f"warning: query {listed_names} matches no document; its rows are {order}"
    return f"warning: {len(names):,} queries match no document ({listed_names}); their rows are {order}"


def _without_rows(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"warning: query {_shown(names)} matches no document and has no rows"
    return f"warning: {len(names):,} queries match no document ({_shown(names)}) and have no rows"


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")


def _counted(sizes: Sequence[int]) -> str:
    least, most = min(sizes, default=0), max(sizes, default=0)
    return f"{most:,}" if least == most else f"{least:,}-{most:,}"

"""Queries that come one by one, what is found for them, and texts that come with their queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ids, id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import GenericDoc, GenericQuery, IrDataset
from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.retrievers.texts import DatasetTexts
from irtoolkit.runs import Run

# The name of a dataset that has no id.
FRAME = "the frame"


class TextQuery(NamedTuple):
    """A query to be ranked; `doc_ids` are its candidates, or None for the dataset's own."""

    query_id: str
    text: str
    doc_ids: Sequence[str] | None = None


class TextRanking(NamedTuple):
    """The ranking of a query, best first: (n,) ids and (n,) scores, as a run has them."""

    doc_ids: Ids
    scores: NDArray[np.float32]


def rank_texts(
    system: System,
    queries: Sequence[TextQuery],
    texts: Sequence[Sequence[str]],
    *,
    progress: bool = False,
) -> list[TextRanking]:
    """Ranks texts that come with their queries; their corpus is what is asked at once.

    Args:
        system: what ranks.
        queries: queries with distinct ids, each with its candidates, best first.
        texts: the text of each candidate; one document may have other texts for other queries.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: the system cannot run here, or wants more of a record than its text.
    """
    check_runnable(system)
    names = _distinct_names(queries, texts)
    index: dict[str, int] = {}
    groups = []
    for position, (query, query_texts) in enumerate(zip(queries, texts, strict=True)):
        keys = zip(query.doc_ids or (), query_texts, strict=True)
        docs = [index.setdefault(names[key], len(index)) for key in keys]
        groups.append(QueryGroup(np.array([position]), np.array(docs, dtype=np.int64)))
    records = {name: GenericDoc(name, text) for (_, text), name in names.items()}
    docs_handler = DocsHandler(lambda: records, GenericDoc, FRAME, None)
    task = Task(
        FRAME,
        id_array([query.query_id for query in queries]),
        id_array(list(index)),
        tuple(groups),
        system.task.query,
        system.task.doc,
        picked=True,
        ordered=True,
        texts=DatasetTexts(
            Dataset(FRAME, IrDataset(docs_handler), in_memory=True),
            [GenericQuery(query.query_id, query.text) for query in queries],
        ),
    )
    rankings = rank_found(task, system.retriever, system.filled(), None, progress)
    plain = {name: doc_id for (doc_id, _), name in names.items()}
    return [
        TextRanking(id_array([plain[name] for name in ranking.doc_ids]), ranking.scores)
        for ranking in (rankings[query.query_id] for query in queries)
    ]


def _distinct_names(
    queries: Sequence[TextQuery], texts: Sequence[Sequence[str]]
) -> dict[tuple[str, str], str]:
    """(Document id, text) to a name of its own: one document may have several texts."""
    names: dict[tuple[str, str], str] = {}
    versions: dict[str, int] = {}
    for query, query_texts in zip(queries, texts, strict=True):
        for doc_id, text in zip(query.doc_ids or (), query_texts, strict=True):
            if (doc_id, text) not in names:
                number = versions[doc_id] = versions.get(doc_id, -1) + 1
                # No id changes its place in the order by this.
                names[doc_id, text] = f"{doc_id}\0{number}" if number else doc_id
    return names


def rank_found(
    task: Task, retriever: Retriever, system: System, depth: int | None, progress: bool
) -> dict[str, TextRanking]:
    if not any(len(group.docs) for group in task.groups):
        nothing = TextRanking(id_array([]), np.empty(0, np.float32))
        return dict.fromkeys(task.query_ids, nothing)
    run = rank(
        task,
        retriever,
        depth=depth,
        ties=system.task.ties,
        fill=system.task.fill,
        tag=system.name,
        progress=progress,
    )
    run = run.untied()  # as in a file: any tool that sorts again finds this order
    bounds = zip(run.query_ids, run.offsets[:-1], run.offsets[1:], strict=True)
    return {
        query_id: TextRanking(run.doc_ids[run.docs[start:end]], run.scores[start:end])
        for query_id, start, end in bounds
    }


def run_of(queries: Sequence[TextQuery]) -> Run:
    """The candidates as a run, in their order."""
    return Run.from_rows(
        (
            (query.query_id, doc_id, -rank)
            for query in queries
            for rank, doc_id in enumerate(query.doc_ids or ())
        ),
        tag="given",
    )


def squeezed(text: str) -> str:
    """Returns a text with single spaces."""
    return " ".join(text.split())

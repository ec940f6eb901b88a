"""Candidates as a server is asked for them, and hits out of the ids that it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers.base import Hits
from irtoolkit.retrievers.task import Task
from irtoolkit.runs.order import tie_order

# Ids in one filter.
CHUNK = 10_000
# Id and score of the documents that a query finds, best first.
ServerHits = list[tuple[str, float]]


@dataclass(frozen=True, eq=False)
class ServerCandidates:
    """Candidates as a request to a server names them.

    Attributes:
        ids: (c,) the ids.
        order: (c,) places of the ids in ascending order.
        only: whether a request names these ids; else it names the few that are left out.
        without: the ids of these few.
    """

    ids: Ids
    order: Ints
    only: bool
    without: list[str]

    @classmethod
    def of(cls, task: Task, docs: Ints) -> ServerCandidates:
        """Returns a task's documents at some positions as candidates."""
        ids = task.doc_ids[docs]
        is_rest = np.ones(len(task.doc_ids), bool)
        is_rest[docs] = False
        only = task.pooled or task.picked or is_rest.sum() > len(docs)
        without = [] if only else task.doc_ids[is_rest].tolist()
        return cls(ids, np.argsort(ids), only, without)

    def places(self, doc_ids: Sequence[str], where: str) -> Ints:
        """Returns the positions of the ids of hits.

        Raises:
            InputError: an id that is none of the candidates'.
        """
        ids = np.array(doc_ids, dtype=object)
        ranks = np.searchsorted(self.ids, ids, sorter=self.order)
        places = self.order[np.minimum(ranks, len(self.ids) - 1)]
        strange = self.ids[places] != ids
        if strange.any():
            raise InputError(
                f"document {ids[np.argmax(strange)]} of {where} is not in the dataset",
                remedy="name an index of this dataset's documents, or another field of ids",
            )
        return places

    def hits(
        self, results: Sequence[ServerHits], most: int, where: str, rest: float | None
    ) -> Hits:
        """Hits of queries.

        Args:
            results: the hits of each query.
            most: number of documents to rank, at most.
            where: the index, for messages.
            rest: the score of candidates without a hit; None if they are not ranked.

        Raises:
            InputError: a document is found twice, or is none of the candidates.
        """
        rows = []
        for pairs in results:
            places = self.places([doc_id for doc_id, _ in pairs], where)
            if len(set(places.tolist())) < len(places):
                [(twice, times)] = Counter(doc_id for doc_id, _ in pairs).most_common(1)
                raise _repeated(twice, times, where)
            scores = np.array([score for _, score in pairs], np.float64)
            if rest is not None and len(places) < min(most, len(self.ids)):
                is_rest = np.ones(len(self.ids), bool)
                is_rest[places] = False
                equals = tie_order(self.order)
                more = equals[is_rest[equals]]
                places = np.concatenate([places, more])
                scores = np.concatenate([scores, np.full(len(more), rest)])
            rows.append((places, scores))
        width = max((len(places) for places, _ in rows), default=0)
        arrays = np.full((len(rows), width), -1, np.int64), np.zeros((len(rows), width))
        for row, (places, scores) in enumerate(rows):
            arrays[0][row, : len(places)], arrays[1][row, : len(places)] = places, scores
        return Hits(*arrays)


def _repeated(doc_id: str, times: int, where: str) -> InputError:
    return InputError(
        f"id {doc_id} is there {times:,} times in {where}",
        remedy="name an index with one row for each document, or another field of ids",
    )


def check_present(
    task: Task,
    where: str,
    present: Callable[[list[str], int], list[str]],
    *,
    blank_too: bool,
    step: int = CHUNK,
) -> None:
    """Raises InputError for an index that lacks a candidate, or has one more than once.

    Args:
        task: whose candidates.
        where: the index, for messages.
        present: the ids of the rows that some ids have in the index, of at most so many rows.
        blank_too: whether it has to hold documents without text, too.
        step: one less than the most rows that `present` gives.
    """
    with tqdm(
        total=len(task.doc_ids), desc="checking ids", unit="document", disable=None, leave=None
    ) as bar:
        for start in range(0, len(task.doc_ids), step):
            ids = task.doc_ids[start : start + step].tolist()
            rows = present(ids, len(ids) + 1)  # one more shows that an id is there twice
            counts = Counter(rows)
            if len(counts) < len(rows):
                [(twice, _)] = counts.most_common(1)
                raise _repeated(twice, len(present([twice], step + 1)), where)
            bar.update(len(ids))
            absent = [start + number for number, doc_id in enumerate(ids) if doc_id not in counts]
            for number in absent:
                if blank_too or any(text.strip() for text in task.docs[np.array([number])][0]):
                    raise InputError(
                        f"document {task.doc_ids[number]} of {task.dataset_id} is not in {where}"
                        f" ({len(absent):,} of the first {start + len(ids):,} are not)",
                        remedy="name an index of this dataset's documents, or another field of ids",
                    )

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
    """Candidates as a server is asked for them.

    Attributes:
        ids: (c,) the ids.
        order: (c,) places of the ids in ascending order.
        only: whether these are to be picked by their ids; else they are the corpus without a few.
        without: the ids of these few.
    """

    ids: Ids
    order: Ints
    only: bool
    without: list[str]

    @classmethod
    def of(cls, task: Task, docs: Ints) -> ServerCandidates:
        """The candidates that a task's documents at some places are."""
        ids = task.doc_ids[docs]
        left = np.ones(len(task.doc_ids), bool)
        left[docs] = False
        only = task.pooled or task.picked or left.sum() > len(docs)
        without = [] if only else task.doc_ids[left].tolist()
        return cls(ids, np.argsort(ids), only, without)

    def places(self, found: Sequence[str], where: str) -> Ints:
        """The places of ids that a server has found.

        Raises:
            InputError: an id that is none of the candidates'.
        """
        asked = np.array(found, dtype=object)
        at = np.searchsorted(self.ids, asked, sorter=self.order)
        places = self.order[np.minimum(at, len(self.ids) - 1)]
        strange = self.ids[places] != asked
        if strange.any():
            raise InputError(
                f"document {asked[np.argmax(strange)]} of {where} is not in the dataset",
                remedy="name an index of this dataset's documents, or another field of ids",
            )
        return places

    def hits(self, found: Sequence[ServerHits], most: int, where: str, rest: float | None) -> Hits:
        """Hits of queries.

        Args:
            found: what each query finds.
            most: documents that are ranked at most.
            where: the index, for messages.
            rest: the score of candidates that were not found; None where they are not ranked.

        Raises:
            InputError: a document is found twice, or is none of the candidates.
        """
        rows = []
        for pairs in found:
            places = self.places([doc_id for doc_id, _ in pairs], where)
            if len(set(places.tolist())) < len(places):
                [(twice, times)] = Counter(doc_id for doc_id, _ in pairs).most_common(1)
                raise _repeated(twice, times, where)
            scores = np.array([score for _, score in pairs], np.float64)
            if rest is not None and len(places) < min(most, len(self.ids)):
                left = np.ones(len(self.ids), bool)
                left[places] = False
                equals = tie_order(self.order)
                more = equals[left[equals]]
                places = np.concatenate([places, more])
                scores = np.concatenate([scores, np.full(len(more), rest)])
            rows.append((places, scores))
        width = max((len(places) for places, _ in rows), default=0)
        made = np.full((len(rows), width), -1, np.int64), np.zeros((len(rows), width))
        for at, (places, scores) in enumerate(rows):
            made[0][at, : len(places)], made[1][at, : len(places)] = places, scores
        return Hits(*made)


def _repeated(doc_id: str, times: int, where: str) -> InputError:
    return InputError(
        f"id {doc_id} is there {times:,} times in {where}",
        remedy="name an index with one row for each document, or another field of ids",
    )


def refuse_absent(
    task: Task,
    where: str,
    present: Callable[[list[str], int], list[str]],
    *,
    blank_too: bool,
    step: int = CHUNK,
) -> None:
    """Refuses an index that lacks a candidate, or has one more than once.

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
            asked = task.doc_ids[start : start + step].tolist()
            rows = present(asked, len(asked) + 1)  # one more shows that an id is there twice
            there = Counter(rows)
            if len(there) < len(rows):
                [(twice, _)] = there.most_common(1)
                raise _repeated(twice, len(present([twice], step + 1)), where)
            bar.update(len(asked))
            absent = [start + at for at, doc_id in enumerate(asked) if doc_id not in there]
            for at in absent:
                if blank_too or any(text.strip() for text in task.docs[np.array([at])][0]):
                    raise InputError(
                        f"document {task.doc_ids[at]} of {task.dataset_id} is not in {where}"
                        f" ({len(absent):,} of the first {start + len(asked):,} are not)",
                        remedy="name an index of this dataset's documents, or another field of ids",
                    )

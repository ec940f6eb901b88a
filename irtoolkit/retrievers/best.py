"""A ranking of a collection of one's own without judgments to choose a retriever by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ints
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.places import is_hub_id
from irtoolkit.models.presets import announce_downloads, missing_weights, place_of, why_not_fetched
from irtoolkit.retrievers.base import Block, Retriever, ScoreMatrix, Scorer, Stores, scores_of
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.surroundings import BM25Surroundings
from irtoolkit.retrievers.task import Task
from irtoolkit.runs.order import best_first


@dataclass(frozen=True)
class UntunedFusion(Retriever):
    """BM25 and encoders by reciprocal rank fusion; of passages of books, BM25 with surroundings.

    The score of a document is Σ 1 / (k + rank) over BM25 and each encoder, where equal scores share
    the best of their ranks. Passages of books are ranked by `bm25-surroundings` with its usual
    settings, and need no weights. Nothing has to be chosen or trained. Weights of the encoders that are
    not here are downloaded at the first use, some 600 MB, unless IRTOOLKIT_DOWNLOAD=0 is set.

    Attributes:
        models: the encoders, presets or folders, with "+" between them; or none. Passages of books
            need none.
        k: of the fusion; the greater, the less the first ranks count.
    """

    name: ClassVar[str] = "best"
    stores: ClassVar[Stores] = "vectors"

    models: str | None = "all-MiniLM-L6-v2+gte-small+all-mpnet-base-v2"
    k: float = 60.0

    def __post_init__(self) -> None:
        if self.models is not None and not all(self.models.split("+")):
            raise InputError(
                f"setting models={self.models} has an empty name",
                remedy='names of models with "+" between them',
            )
        if not 0 <= self.k < np.inf:
            raise InputError(f"setting k={self.k} is not a number from 0 on")

    def encoders(self) -> list[Dense]:
        """Returns the encoders."""
        return [] if self.models is None else [Dense(model=m) for m in self.models.split("+")]

    def fitted(self, dataset: Dataset) -> Self:
        return self if dataset.passages() is None else replace(self, models=None)

    def _usable(self) -> list[Dense]:
        """Returns the encoders that can run here; says first which weights are to be downloaded."""
        usable = [encoder for encoder in self.encoders() if encoder.missing() is None]
        try:
            announce_downloads([encoder.preset() for encoder in usable], BM25.name)
        except InputError as error:
            raise InputError(error.found, remedy=self._instead()) from None
        return usable

    def _check_encoders(self) -> None:
        """Raises one InputError for all encoders that cannot run here; it says what can."""
        if not any(encoder.missing() for encoder in self.encoders()):
            return
        if find_spec("sentence_transformers") is None:
            error = needs_extra("sentence-transformers", "neural")
            raise InputError(
                error.found, remedy=f"{error.remedy}; or --set models=none: BM25 alone"
            )
        lacking = {e.preset().id: _lacking(e) for e in self.encoders() if e.missing()}
        reasons = [reason for encoder, reason in lacking.items() if not is_hub_id(encoder)]
        if reasons:
            raise InputError("; ".join(reasons))
        ids = " and ".join(lacking)
        raise InputError(
            f"the weights of {ids} are not here{why_not_fetched()}", remedy=self._instead()
        )

    def _instead(self) -> str:
        """Returns what to do if weights are not here and cannot be downloaded."""
        encoders = {encoder.model: place_of(encoder.preset()) for encoder in self.encoders()}
        here = [name for name, place in encoders.items() if place is not None]
        absent = [name for name, place in encoders.items() if place is None]
        ways = [f"--set models={'+'.join(here)}: those that are here"] if here else []
        ways.append("--set models=none: BM25 alone")
        fetch = f"irtoolkit models --fetch {' '.join(absent)}"
        return f"{'; '.join(ways)}; or `{fetch}` where there is a network"

    def parts(self, task: Task) -> list[Retriever]:
        """Returns the retrievers whose rankings of a task are fused."""
        if task.dataset is not None and task.dataset.passages() is not None:
            return [BM25Surroundings()]
        return [BM25(), *self.encoders()]

    def fingerprint(self) -> str | None:
        return "+".join(encoder.fingerprint() or "" for encoder in self._usable()) or None

    def computed(self) -> dict[str, Any]:
        return {
            key: value for encoder in self._usable() for key, value in encoder.computed().items()
        }

    def also_reads(self, task: Task) -> Iterable[str]:
        return chain.from_iterable(part.also_reads(task) for part in self.parts(task))

    def reads_corpus(self) -> bool:
        return BM25().reads_corpus()

    def scorer(self, task: Task) -> Scorer:
        parts = self.parts(task)
        if len(parts) == 1:
            return parts[0].scorer(task)
        self._check_encoders()
        self._usable()  # says what is downloaded
        scorers = [part.scorer(task) for part in parts]

        def candidates(doc: Ints) -> Block:
            blocks = [scorer(doc) for scorer in scorers]

            def score(query: Ints) -> ScoreMatrix:
                total: ScoreMatrix = np.zeros((len(query), len(doc)))
                for block in blocks:
                    for row, scores in enumerate(scores_of(block(query))):
                        total[row] += 1 / (self.k + _ranks(scores))
                return total

            return score

        return candidates


def _lacking(encoder: Dense) -> str:
    """Returns what an encoder lacks to run here; a folder of it is given in `models`."""
    return missing_weights(encoder.preset(), "models") or encoder.missing() or ""


def _ranks(scores: Any) -> Ints:
    """Returns the rank of each score from 1; equal scores share the best of their ranks."""
    order = best_first(scores)
    ordered = scores[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = np.flatnonzero(is_first)[np.cumsum(is_first) - 1] + 1
    return ranks

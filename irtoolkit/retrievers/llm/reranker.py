"""The base class of rerankers that ask a language model about the documents of a first stage."""

from __future__ import annotations

import logging
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.languages import EAST_RANGES
from irtoolkit.models.presets import Preset
from irtoolkit.models.prompts import Prompts, Template
from irtoolkit.retrievers.base import Block, Scorer, keep_last
from irtoolkit.retrievers.llm.prompted import Prompted
from irtoolkit.retrievers.llm.rounds import Steps, together
from irtoolkit.retrievers.llm.tally import AnswerCounts
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs.order import best_first, separate

PassageScores = NDArray[np.float64]
# Prompts of a round for each that is answered at once: few enough to hold, and enough that the last
# answers of a round keep nobody waiting for long.
_ROUND = 32
# A word, or a character of a script that is written without spaces.
_WORD = re.compile(f"[{EAST_RANGES}]|[^\\s{EAST_RANGES}]+")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RankedQuery:
    """A query that is ranked.

    Attributes:
        fields: what stands in its prompts, by name.
        ordered: whether its documents stand as a first stage has ranked them.
        tally: takes the counts.
    """

    fields: Mapping[str, str]
    ordered: bool
    tally: AnswerCounts


@dataclass(frozen=True)
class Reranker(Prompted):
    """Parameters of rerankers that ask a language model about documents.

    Attributes:
        words: words after which a document is cut, where a Chinese or Japanese character is one;
            None cuts none.
        document_prompt: text put before each document in a prompt.
    """

    # 2: an answer that cannot be read with certainty is unread; JSON and lists are read.
    format: ClassVar[int] = 2

    words: int | None = 300
    document_prompt: str | None = None

    def missing(self) -> str | None:
        if self.words is not None and self.words < 1:
            return f"words={self.words} is not at least 1"
        return super().missing()

    def prompt_settings(self) -> Prompts:
        """The prompts that settings give."""
        return Prompts(self.query_prompt, self.document_prompt, self.instruction)

    @abstractmethod
    def needs_order(self) -> bool:
        """Whether it improves an order that a first stage has found, and has none of its own."""

    @abstractmethod
    def scored(
        self, template: Template, query: RankedQuery, docs: Sequence[str]
    ) -> Steps[PassageScores]:
        """Scores the documents of a query, in rounds of prompts.

        Args:
            template: of the prompts.
            query: whose documents they are.
            docs: (c,) their texts, in the order of the first stage where there is one.

        Returns:
            (c,) scores, higher is better.
        """

    def scorer(self, task: Task) -> Scorer:
        """Asks about every query of the task.

        Raises:
            InputError: something is missing, the candidates are a whole corpus or have no order, the
                model fails, or no answer can be read.
        """
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        self._check_task(task)
        tally = AnswerCounts()
        jobs = together(self._jobs(task, tally), _ROUND * self.parallel)
        results = self.run(jobs, tally)
        order = [query for group in task.groups if len(group.docs) for query in group.queries]
        scores = dict(zip(order, results, strict=True))
        tally.check_readable(self.llm)
        note = tally.note(self.llm, self.words)
        if note is not None:
            _log.warning("%s", note)

        def candidates(docs: Ints) -> Block:
            return lambda queries: np.stack([scores[query] for query in queries])

        return candidates

    def _check_task(self, task: Task) -> None:
        rerank = f"and `irtoolkit rerank {task.dataset_id} RUN {self.name}`"
        if task.ranks_corpus:
            raise InputError(
                f"{self.name} would ask {self.llm} about every document of {task.dataset_id}",
                remedy=f"rank it by another system, {rerank}",
            )
        if self.needs_order() and not task.ordered:
            raise InputError(
                f"{self.name} improves the order of a first stage, and the candidates of"
                f" {task.dataset_id} have none",
                remedy=f"rank them by another system, {rerank}",
            )

    def _jobs(self, task: Task, tally: AnswerCounts) -> Iterator[Steps[PassageScores]]:
        template = self.template()
        fields = self.query_fields(task, template)

        before = self.prompt_settings().of_documents(Preset("")) or ""

        def texts(docs: Ints) -> list[str]:
            passages = [cut_words(" ".join(doc), self.words) for doc in task.docs[docs]]
            tally.docs.update(docs.tolist())
            tally.shortened.update(
                doc for doc, (_, is_cut) in zip(docs.tolist(), passages, strict=True) if is_cut
            )
            return [before + text for text, _ in passages]

        read = keep_last(texts)
        for group in task.groups:
            for number in group.queries if len(group.docs) else ():
                named = {name: values[number] for name, values in fields.items()}
                yield self._job(template, RankedQuery(named, task.ordered, tally), read, group)

    def _job(
        self, template: Template, query: RankedQuery, read: Any, group: QueryGroup
    ) -> Steps[PassageScores]:
        """The job of a query, whose documents are read when it begins."""
        query.tally.queries += 1
        return (yield from self.scored(template, query, read(group.docs)))

    def shorter(self) -> str:
        """Returns the settings that make prompts shorter, in words."""
        return f"cut documents after fewer words than words={self.words}"


def cut_words(text: str, most: int | None) -> tuple[str, bool]:
    """A text in one line, cut after so many words; and whether it was longer."""
    line = " ".join(text.split())
    if most is None:
        return line, False
    for number, word in enumerate(_WORD.finditer(line), start=1):
        if number > most:
            return line[: word.start()].rstrip(), True
    return line, False


def scores_of_order(order: Sequence[int] | Ints) -> PassageScores:
    """(c,) scores under which documents stand in an order, best first: how many come from each on."""
    scores = np.empty(len(order))
    scores[order] = np.arange(len(order), 0, -1)
    return scores


def ordered_scores(values: PassageScores, query: RankedQuery) -> PassageScores:
    """Scores under which documents with equal values keep the order of the first stage, if any.

    Args:
        values: (c,) higher is better; NaN of a document that has none, which keeps its place, or
            without a first stage comes last.
        query: whose documents they are.
    """
    is_missing = np.isnan(values)
    if not query.ordered:
        least = np.nanmin(values) if not is_missing.all() else 0.0
        return np.where(is_missing, least - 1.0, values)
    slots = np.flatnonzero(~is_missing)
    order = np.arange(len(values))
    order[slots] = slots[best_first(values[slots])]
    ordered = values[order]
    for position in np.flatnonzero(np.isnan(ordered)):
        neighbours = ordered[:position][-1:] if position else ordered[~np.isnan(ordered)][:1]
        ordered[position] = neighbours[0] if len(neighbours) else 0.0
    scores = np.empty(len(values))
    scores[order] = separate(ordered)
    return scores

"""Queries as a language model rewrites them: searched is what it writes for them.

PlotRetrieval's "ChatGPT+Contriever" (§5.1): ChatGPT is asked for the plot that a description is
about, and its answer is the query.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.generator import FILTERED, LENGTH, Completion
from irtoolkit.models.presets import Kind
from irtoolkit.models.prompts import Template
from irtoolkit.retrievers.asking import Asking, query_field
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.task import Task

# Queries named in an error.
_SHOWN = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Generated(Asking):
    """Parameters of retrievers whose queries a language model rewrites.

    Attributes:
        prompt: what the model is asked, with {query} where the query stands, and {field} where a
            field or view of its record does, e.g. {book}; braces are doubled.
        mode: whether the answer takes the query's place or follows it.
        unanswered: what to do with a query that gets no text or a withheld one: stop, after all
            others have been asked, or search with the query itself.
    """

    prompt: str = "Write a short passage that fits this description.\n\n{query}\n\nPassage:"
    mode: Literal["replace", "append"] = "replace"
    unanswered: Literal["stop", "query"] = "stop"

    def also_reads(self, task: Task) -> Iterable[str]:
        # Prompts may have fields that are not in the task's own view.
        return (*super().also_reads(task), *self.prompts(task))

    def prompts(self, task: Task) -> list[str]:
        """(Q,) what the model is asked for each query.

        Raises:
            InputError: the template cannot be read, or has a field that the queries have not.
        """
        template = Template.of(self.prompt)
        if not template.names:
            raise InputError("the prompt is the same for every query", remedy="put {query} into it")
        fields = {name: query_field(task, name) for name in template.names}
        prompts = [
            template.filled({name: texts[i] for name, texts in fields.items()})
            for i in range(len(task.query_ids))
        ]
        for query_id, prompt in zip(task.query_ids, prompts, strict=True):
            if not prompt.strip():
                raise InputError(f"query {query_id} makes an empty prompt")
        return prompts

    def asked(self, task: Task) -> list[Segments]:
        """(Q,) what the model has written for each query, alone or behind it.

        Raises:
            InputError: something is missing, the model fails, or a query has no answer.
        """
        prompts, generator = self.prompts(task), self.generator()
        answers = Answers("generated", generator.identity())
        answers.gather(prompts, generator.generate)
        completions = [Completion(*answers[prompt]) for prompt in prompts]
        missing = [
            f"{query_id} ({answer.finish})"
            for query_id, answer in zip(task.query_ids, completions, strict=True)
            if not _usable(answer)
        ]
        if missing and self.unanswered == "stop":
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise InputError(
                f"{self.llm} gives no text for {len(missing)} of {len(prompts)} queries:"
                f" {', '.join(missing[:_SHOWN])}{more}",
                remedy="set unanswered=query to search with these as they are, or change the prompt",
            )
        if missing:
            _log.warning(
                "%s: %d of %d queries have no answer and stand as they are",
                self.llm,
                len(missing),
                len(prompts),
            )
        cut = sum(answer.finish == LENGTH for answer in completions)
        if cut:
            _log.warning(
                "%s: %d of %d answers were cut at max_tokens=%s",
                self.llm,
                cut,
                len(prompts),
                self.max_tokens,
            )
        return [
            self._rewritten(query, answer) if _usable(answer) else query
            for query, answer in zip(task.queries, completions, strict=True)
        ]

    def _rewritten(self, query: Segments, answer: Completion) -> Segments:
        written = answer.text.strip()
        return (*query, written) if self.mode == "append" else (written,)


@dataclass(frozen=True)
class GeneratedQuery(Generated, Dense):
    """Similarity of a document and what a language model writes for the query."""

    name: ClassVar[str] = "generated-query"
    applies: ClassVar[Kind | None] = None

    def asked(self, task: Task) -> list[Segments]:
        return self.prompted(task, super().asked(task))


def _usable(answer: Completion) -> bool:
    return bool(answer.text.strip()) and answer.finish != FILTERED

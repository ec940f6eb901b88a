"""Queries as a language model rewrites them: searched is what it writes for them.

PlotRetrieval's "ChatGPT+Contriever" (§5.1): ChatGPT is asked for the plot that a description is
about, and its answer is the query.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter
from typing import ClassVar, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.endpoint import Endpoint
from irtoolkit.models.llm.generator import FILTERED, LENGTH, Completion, TextGenerator
from irtoolkit.models.llm.local import LocalGenerator
from irtoolkit.models.presets import Kind
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import Segments

# The query itself in a prompt; any other name is a field of its record.
QUERY = "query"
# Queries named in an error.
_SHOWN = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Generated(Retriever):
    """Parameters of retrievers whose queries a language model rewrites; each prompt is asked once.

    Answers are kept as they come (see `irtoolkit.models.llm.cache`), so that an interrupted run goes on
    where it was, and a repeated one asks nothing.

    Attributes:
        llm: the model's name at the endpoint; without one a preset, folder or hub id.
        endpoint: an OpenAI-compatible address, e.g. https://api.openai.com/v1; None runs the
            model here.
        prompt: what the model is asked, with {query} where the query stands, and {field} where a
            field or view of its record does, e.g. {book}; braces are doubled.
        system: a message that precedes every prompt.
        mode: whether the answer takes the query's place or follows it.
        unanswered: what to do with a query that gets no text or a withheld one: stop, after all
            others have been asked, or search with the query itself.
        temperature, max_tokens, seed: see `irtoolkit.models.llm.generator`.
        key_variable: the environment variable with the endpoint's API key.
        parallel: requests under way at once, or prompts in one batch of a local model.
        timeout: seconds of silence after which a request is given up and made again.
        device: of a local model.
    """

    llm: str = ""
    endpoint: str | None = None
    prompt: str = "Write a short passage that fits this description.\n\n{query}\n\nPassage:"
    system: str | None = None
    mode: Literal["replace", "append"] = "replace"
    unanswered: Literal["stop", "query"] = "stop"
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    seed: int | None = 0
    key_variable: str | None = "OPENAI_API_KEY"
    parallel: int = 8
    timeout: float = 120.0
    device: str | None = None

    def missing(self) -> str | None:
        return super().missing() or self.generator().missing()

    def keeps_answers(self) -> bool:
        return True

    def asks_others(self) -> bool:
        return self.generator().is_remote()

    def fingerprint(self) -> str | None:
        own = super().fingerprint()
        return own if self.endpoint is not None else f"{own} {self.generator().identity()['model']}"

    def also_reads(self, task: Task) -> Iterable[str]:
        # Prompts may have fields that are not in the task's own view.
        return (*super().also_reads(task), *self.prompts(task))

    def generator(self) -> TextGenerator:
        """The language model."""
        how = (
            self.llm, self.system, self.temperature, self.max_tokens, self.seed, self.parallel,
        )  # fmt: skip
        if self.endpoint is None:
            return LocalGenerator(*how, device=self.device)
        return Endpoint(
            *how, url=self.endpoint, key_variable=self.key_variable, timeout=self.timeout
        )

    def prompts(self, task: Task) -> list[str]:
        """(Q,) what the model is asked for each query.

        Raises:
            InputError: the template cannot be read, or has a field that the queries have not.
        """
        parts = _parts(self.prompt)
        names = {name for _, name in parts if name is not None}
        if not names:
            raise InputError("the prompt is the same for every query", remedy="put {query} into it")
        fields = {name: _field(task, name) for name in names}
        prompts = [
            "".join(text + (fields[name][i] if name is not None else "") for text, name in parts)
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
        found = [Completion(*answers[prompt]) for prompt in prompts]
        lacking = [
            f"{query_id} ({answer.finish})"
            for query_id, answer in zip(task.query_ids, found, strict=True)
            if not _usable(answer)
        ]
        if lacking and self.unanswered == "stop":
            more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
            raise InputError(
                f"{self.llm} gives no text for {len(lacking)} of {len(prompts)} queries:"
                f" {', '.join(lacking[:_SHOWN])}{more}",
                remedy="set unanswered=query to search with these as they are, or change the prompt",
            )
        if lacking:
            _log.warning(
                "%s: %d of %d queries have no answer and stand as they are",
                self.llm, len(lacking), len(prompts),
            )  # fmt: skip
        cut = sum(answer.finish == LENGTH for answer in found)
        if cut:
            _log.warning(
                "%s: %d of %d answers were cut at max_tokens=%s",
                self.llm, cut, len(prompts), self.max_tokens,
            )  # fmt: skip
        return [
            self._rewritten(query, answer) if _usable(answer) else query
            for query, answer in zip(task.queries, found, strict=True)
        ]

    def _rewritten(self, query: Segments, answer: Completion) -> Segments:
        written = answer.text.strip()
        return (*query, written) if self.mode == "append" else (written,)


@dataclass(frozen=True)
class GeneratedQuery(Generated, Dense):
    """Similarity of a document and what a language model writes for the query."""

    name: ClassVar[str] = "generated-query"
    applies: ClassVar[Kind | None] = None


def _usable(answer: Completion) -> bool:
    return bool(answer.text.strip()) and answer.finish != FILTERED


def _parts(template: str) -> list[tuple[str, str | None]]:
    """A template as literal texts, each with the name that follows it."""
    remedy = "{query} is the query, {field} a field of its record; braces are written {{ and }}"
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise InputError(f"the prompt cannot be read: {error}", remedy=remedy) from None
    parts: list[tuple[str, str | None]] = []
    for text, name, form, conversion in parsed:
        if conversion or name == "":
            raise InputError("the prompt has braces without a field's name", remedy=remedy)
        # The views masked:TOKEN have a colon.
        parts.append((text, f"{name}:{form}" if name is not None and form else name))
    return parts


def _field(task: Task, name: str) -> list[str]:
    """(Q,) the text of a field of each query."""
    try:
        found = task.queries if name == QUERY else task.query_fields(name)
    except InputError as error:
        raise InputError(
            f"the prompt has {{{name}}}: {error.found}",
            remedy=f"{error.remedy}; {{{QUERY}}} is the query itself, and braces are doubled",
        ) from None
    return [" ".join(segments) for segments in found]

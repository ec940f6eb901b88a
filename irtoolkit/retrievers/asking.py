"""The base class of retrievers that ask a language model: the model, and templates of prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.llm.endpoint import Endpoint
from irtoolkit.models.llm.generator import TextGenerator
from irtoolkit.models.llm.local import LocalGenerator
from irtoolkit.retrievers.base import Retriever, Stores
from irtoolkit.retrievers.task import Task

# The query itself in a prompt; any other name is a field of its record.
QUERY = "query"


@dataclass(frozen=True)
class Asking(Retriever):
    """Parameters of retrievers that ask a language model; each prompt is asked once.

    Answers are kept as they come (see `irtoolkit.models.llm.cache`), so that an interrupted run goes on
    where it was, and a repeated one asks nothing.

    Attributes:
        llm: the model's name at the endpoint; without one a preset, folder or hub id.
        endpoint: an OpenAI-compatible address, e.g. https://api.openai.com/v1; None runs the
            model here.
        system: a message that precedes every prompt.
        temperature: 0 takes the likeliest token; none leaves sampling to the model's publisher.
        max_tokens: tokens after which an answer is cut.
        seed: of the sampling.
        key_variable: the environment variable with the endpoint's API key.
        parallel: requests under way at once, or prompts in one batch of a local model.
        timeout: seconds of silence after which a request is given up and made again.
        device: of a local model.
        trust_remote_code: whether code that comes with a local model may run, with all rights that this
            command has; without it such a model is refused.
        chat: whether prompts go through the chat template of a local model that has one.
    """

    stores: ClassVar[Stores] = "answers"
    read_with: ClassVar = {
        "key_variable": ("endpoint",),
        "timeout": ("endpoint",),
        "trust_remote_code": ("endpoint=none",),
        "chat": ("endpoint=none",),
    }

    llm: str = ""
    endpoint: str | None = None
    system: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    seed: int | None = 0
    key_variable: str | None = "OPENAI_API_KEY"
    parallel: int = 8
    timeout: float = 120.0
    device: str | None = None
    trust_remote_code: bool = False
    chat: bool = True

    def missing(self) -> str | None:
        return super().missing() or self.generator().missing()

    def asks_others(self) -> bool:
        return self.generator().is_remote()

    def fingerprint(self) -> str | None:
        fingerprint = super().fingerprint()
        if self.endpoint is not None:
            return fingerprint
        model = str(self.generator().identity()["model"])
        return model if fingerprint is None else f"{fingerprint} {model}"

    def generator(self) -> TextGenerator:
        """The language model."""
        settings = (
            self.llm,
            self.system,
            self.temperature,
            self.max_tokens,
            self.seed,
            self.parallel,
        )
        if self.endpoint is None:
            return LocalGenerator(
                *settings, device=self.device, trusted=self.trust_remote_code, chat=self.chat
            )
        return Endpoint(
            *settings, url=self.endpoint, key_variable=self.key_variable, timeout=self.timeout
        )


def query_field(task: Task, name: str) -> list[str]:
    """(Q,) the text of each query, or of a field of its record, for the name in a prompt.

    Raises:
        InputError: the queries have no such field; names those they have.
    """
    try:
        values = task.queries if name == QUERY else task.query_fields(name)
    except InputError as error:
        raise InputError(
            f"the prompt has {{{name}}}: {error.found}",
            remedy=f"{error.remedy}; {{{QUERY}}} is the query itself, and braces are doubled",
        ) from None
    return [" ".join(segments) for segments in values]


def instruction_of(dataset: Dataset) -> str | None:
    """Returns what a dataset says that its queries are for; None if it says nothing.

    {instruction} stands for that field of each query's record, which comes before an instruction that
    all queries share.
    """
    first = next(iter(dataset.queries_iter()), None) if dataset.has("queries") else None
    if first is not None and "instruction" in first._fields:
        return "{instruction}"
    shared = "" if dataset.about is None else dataset.about.instruction
    return shared.replace("{", "{{").replace("}", "}}") or None

"""The interface of language models that write text, and their completions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError

# Why a completion ends where it does, in the words of OpenAI's protocol.
STOP, LENGTH, FILTERED = "stop", "length", "content_filter"


class PromptTooLongError(InputError):
    """The error for a prompt that has more tokens than a model takes."""


class Completion(NamedTuple):
    """The completion that a model has written after a prompt.

    Attributes:
        text: may be empty.
        finish: why it ends: "stop", "length" when it was cut at max_tokens, "content_filter" when
            its provider withholds it, or another word of the server's.
        model: the very model that wrote it, as a server names it.
        alternatives: tokens that could have been in the place of the first one with a letter or
            digit, with the natural logarithms of their probabilities; None if they were not requested,
            or the server does not give them.
    """

    text: str
    finish: str = STOP
    model: str | None = None
    alternatives: Mapping[str, float] | None = None


@dataclass(frozen=True)
class TextGenerator(ABC):
    """A language model and its generation settings.

    Attributes:
        model: its name.
        system: a message that precedes every prompt.
        temperature: 0 takes the likeliest token; None leaves sampling to the model's publisher.
        max_tokens: maximum length of a completion.
        seed: of the sampling.
        parallel: prompts that are answered at once.
        alternatives: number of `alternatives` of a completion.
        choices: words that are among them whenever the whole vocabulary is available.
    """

    model: str
    system: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    seed: int | None = 0
    parallel: int = 8
    alternatives: int = 0
    choices: tuple[str, ...] = ()

    def is_remote(self) -> bool:
        """Returns whether prompts leave this machine."""
        return False

    def missing(self) -> str | None:
        """Returns why it cannot write on this machine, or None. Makes no request."""
        if not self.model.strip():
            return "no language model is named: give llm=NAME"
        if self.parallel < 1:
            return f"parallel={self.parallel} is not at least 1"
        if self.max_tokens is not None and self.max_tokens < 1:
            return f"max_tokens={self.max_tokens} is not at least 1"
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            return f"temperature={self.temperature} is not 0 or more"
        if self.alternatives < 0:
            return f"alternatives={self.alternatives} is not 0 or more"
        return None

    def identity(self) -> dict[str, Any]:
        """Returns everything beside the prompt that decides a completion; it holds no secret."""
        names = ("model", "system", "temperature", "max_tokens", "seed")
        # What is not asked for is not named: answers that were kept before stay what they are.
        more = [name for name in ("alternatives", "choices") if getattr(self, name)]
        return {name: getattr(self, name) for name in (*names, *more)}

    @abstractmethod
    def generate(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        """Yields (prompt, completion) for each prompt, in any order, in portions as they come.

        Raises:
            InputError: something is missing, or the model fails; what it has written until then
                is yielded before.
        """

"""The base class of retrievers that fill a prompt for each query, and read what a language model answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.llm.cache import Answers
from irtoolkit.models.llm.generator import Completion, PromptTooLongError
from irtoolkit.models.prompts import Prompts, Template
from irtoolkit.retrievers.asking import QUERY, Asking, instruction_of, query_field
from irtoolkit.retrievers.llm.rounds import Steps
from irtoolkit.retrievers.llm.tally import ENOUGH, AnswerCounts
from irtoolkit.retrievers.task import Task

T = TypeVar("T")


@dataclass(frozen=True)
class Prompted(Asking):
    """Parameters of retrievers that fill a prompt for each query, and read what a model answers.

    Attributes:
        instruction: what the queries are for, in words, where the prompt has {instruction}, else
            before it; {field} stands for a field of the query's record. By default the dataset's own.
        query_prompt: text put before the query in a prompt, with {field} likewise.
        prompt: the text that the model answers, with names in braces.
    """

    read_with: ClassVar = {"device": ("endpoint=none",)}

    # Names in the prompt that stand for documents, and for what is neither document nor query.
    document_names: ClassVar[tuple[str, ...]] = ()
    other_names: ClassVar[tuple[str, ...]] = ()

    instruction: str | None = None
    query_prompt: str | None = None
    prompt: str | None = None

    def prompt_settings(self) -> Prompts:
        """The prompts that settings give."""
        return Prompts(self.query_prompt, instruction=self.instruction)

    def fitted(self, dataset: Dataset) -> Self:
        instruction = instruction_of(dataset) if self.instruction is None else None
        return self if instruction is None else replace(self, instruction=instruction)

    def stays_here(self) -> bool:
        return True  # it waits for a server, or has all cores for its model

    def also_reads(self, task: Task) -> Iterable[str]:
        template = self.template()
        fields = (query_field(task, name) for name in sorted(self._fields(template) - {QUERY}))
        return (
            *super().also_reads(task),
            self.prompt_text(),
            *(text for texts in fields for text in texts),
        )

    def prompt_text(self) -> str:
        """Returns the template of its prompts as text."""
        return self.prompt or ""

    def check(self, answer: Completion) -> None:
        """Raises InputError for a model by its first answer, before it is asked for others."""

    def template(self) -> Template:
        """The template of its prompts, in which everything stands that has to.

        Raises:
            InputError: something does not.
        """
        template = self.prompt_settings().within(Template.of(self.prompt_text()))
        for name in self.document_names:
            if name not in template.names:
                raise InputError(f"the prompt has no {{{name}}}", remedy=f"put {{{name}}} into it")
        if not self._fields(template):
            raise InputError("the prompt is the same for every query", remedy="put {query} into it")
        return template

    def _fields(self, template: Template) -> set[str]:
        """The names in a template that are of the query."""
        return template.names - {*self.document_names, *self.other_names}

    def query_fields(self, task: Task, template: Template) -> dict[str, list[str]]:
        """The texts of all queries for each name in a template that is of the query."""
        return {name: query_field(task, name) for name in self._fields(template)}

    def run(self, jobs: Steps[T], tally: AnswerCounts) -> T:
        """Asks round by round what is not known."""
        generator = self.generator()
        answers = Answers(self.name, generator.identity())
        finished: set[int] = set()
        with tqdm(desc=self.name, unit="prompt", disable=None, leave=None) as bar:

            def ask(prompts: list[str]) -> Iterator[list[tuple[str, Completion]]]:
                for portion in generator.generate(prompts):
                    tally.asked += len(portion)
                    yield portion
                    bar.update(len(portion))
                    bar.set_postfix_str(f"{tally.asked:,} asked")

            try:
                prompts = next(jobs)
                if prompts:
                    answers.gather(prompts[:1], ask, progress=False)
                    self.check(Completion(*answers[prompts[0]]))
                while True:
                    answers.gather(prompts, ask, progress=False)
                    finished.update(map(hash, prompts))
                    tally.prompts = len(finished)
                    sent = [Completion(*answers[prompt]) for prompt in prompts]
                    prompts = jobs.send(sent)
                    tally.check_readable(self.llm, ENOUGH)
            except StopIteration as end:
                result: T = end.value
                return result
            except InputError as error:
                raise self.refused(error) from None

    def refused(self, error: InputError) -> InputError:
        """An error of the model's, with what this retriever can do about it."""
        if isinstance(error, PromptTooLongError):
            return InputError(error.found, remedy=self.shorter())
        return error

    def shorter(self) -> str:
        """Returns the settings that make prompts shorter, in words."""
        return "write a shorter prompt"

"""Prompts: the text before queries and documents, with the instruction in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any, Self

from irtoolkit.base.errors import InputError
from irtoolkit.models.limits import saved_prompt
from irtoolkit.models.presets import Preset, Side, place_of, read_model_json

# The name in a query prompt where the instruction stands.
INSTRUCTION = "instruction"
# Settings that hold prompts; the first is part of the second.
PROMPT_SETTINGS = (INSTRUCTION, "query_prompt", "document_prompt")
# The form in which instructed embedding models save the prompt of one task.
_INSTRUCTED = re.compile(r"(Instruct: ?).+(\n ?Query: ?)", re.DOTALL)


@dataclass(frozen=True)
class Template:
    """A prompt with names in braces that are replaced by values.

    Attributes:
        parts: literal texts, each with the name that follows it.
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads a template.

        Raises:
            InputError: it cannot be read; says how it is written.
        """
        remedy = "{query} is the query, {field} a field of its record; braces are written {{ and }}"
        try:
            parsed = list(Formatter().parse(text))
        except ValueError as error:
            raise InputError(f"the prompt cannot be read: {error}", remedy=remedy) from None
        parts: list[tuple[str, str | None]] = []
        for literal, name, form, conversion in parsed:
            if conversion or name == "":
                raise InputError("the prompt has braces without a field's name", remedy=remedy)
            # The views masked:TOKEN have a colon.
            parts.append((literal, f"{name}:{form}" if name is not None and form else name))
        return cls(tuple(parts))

    @property
    def names(self) -> set[str]:
        """The names in braces."""
        return {name for _, name in self.parts if name is not None}

    @property
    def text(self) -> str:
        """The template with its names in braces, for people to read."""
        return self.filled({name: f"{{{name}}}" for name in self.names})

    def filled(self, values: Mapping[str, str]) -> str:
        """Returns the prompt with a value for each name."""
        return "".join(
            text + (values[name] if name is not None else "") for text, name in self.parts
        )

    def with_template(self, name: str, inner: Template) -> Template:
        """Returns the template with another one in the place of a name."""
        parts: list[tuple[str, str | None]] = []
        for text, part in self.parts:
            parts += [(text, None), *inner.parts] if part == name else [(text, part)]
        return Template(tuple(parts))


@dataclass(frozen=True)
class Prompts:
    """The prompts that settings give a model; see `irtoolkit.retrievers.neural.Neural`.

    Attributes:
        query: the text before each query, with {instruction} for the instruction and
            {field} for a field of the query's record; None is the preset's, or else the model's.
        document: the text before each document; None likewise.
        instruction: the purpose of the query, with {field} as in `query`; None is the preset's.
    """

    query: str | None = None
    document: str | None = None
    instruction: str | None = None

    def of_queries(self, preset: Preset) -> Template | None:
        """Returns the text before each query; None leaves it to the model.

        Raises:
            InputError: an instruction for a prompt without a place for it, or none for one with it.
        """
        template = self._query_template(preset)
        takes = template is not None and INSTRUCTION in template.names
        if self.instruction is not None and not takes:
            raise _no_place(preset, template)
        if template is None or not takes:
            return template
        instruction = preset.instruction if self.instruction is None else self.instruction
        if instruction:
            return template.with_template(INSTRUCTION, Template.of(_with_breaks(instruction)))
        if preset.bare_prompt is not None and self.query is None:
            return Template.of(preset.bare_prompt)
        raise InputError(
            f"the query prompt has {{{INSTRUCTION}}}, and there is no instruction",
            remedy="instruction=TEXT, or query_prompt= for no prompt",
        )

    def of_documents(self, preset: Preset) -> str | None:
        """Returns the text before each document; None leaves it to the model.

        Raises:
            InputError: it has names in braces.
        """
        if self.document is None:
            return preset.document_prompt
        template = Template.of(_with_breaks(self.document))
        if template.names:
            raise InputError(
                f"the document prompt has {{{min(template.names)}}}, which nothing stands for",
                remedy="only query_prompt takes names; braces are written {{ and }}",
            )
        return template.filled({})

    def within(self, template: Template) -> Template:
        """Returns the prompt of a language model with the query prompt and the instruction in it.

        The instruction replaces {instruction} in the prompt, or else precedes the prompt.
        """
        if self.query is not None:
            before = Template.of(_with_breaks(self.query))
            template = template.with_template("query", Template((*before.parts, ("", "query"))))
        if self.instruction is None:
            return template
        instruction = Template.of(_with_breaks(self.instruction))
        if INSTRUCTION in template.names:
            return template.with_template(INSTRUCTION, instruction)
        return Template((*instruction.parts, ("\n\n", None), *template.parts))

    def takes_instruction(self, preset: Preset) -> bool:
        """Returns whether the query prompt has a place for an instruction."""
        template = replace(self, instruction="")._query_template(preset)
        return template is not None and INSTRUCTION in template.names

    def resolved(self, preset: Preset) -> dict[str, str]:
        """Returns the prompts that are used, by setting, for the record of a run; without empty ones."""
        query, document = self.of_queries(preset), self.of_documents(preset)
        texts = {
            "query_prompt": _saved_prompt(preset, "query") if query is None else query.text,
            "document_prompt": _saved_prompt(preset, "document") if document is None else document,
        }
        return {setting: text for setting, text in texts.items() if text}

    def _query_template(self, preset: Preset) -> Template | None:
        """Returns the template of the query prompt, before the instruction is filled in."""
        if self.query is not None:
            return Template.of(_with_breaks(self.query))
        if preset.query_prompt is not None:
            return Template.of(preset.query_prompt)
        saved = _INSTRUCTED.fullmatch(_saved_prompt(preset, "query") or "")
        if saved is None or self.instruction is None:
            # What the model says itself is its own affair.
            return None
        return Template(((saved[1], INSTRUCTION), (saved[2], None)))


def preset_prompt(preset: Preset, side: Side) -> str | None:
    """Returns the prompt of a preset for one side; None leaves it to the model."""
    if side == "document":
        return preset.document_prompt
    template = Prompts().of_queries(preset)
    return None if template is None else template.filled({})


def leaves_out_prompt(folder: str) -> bool:
    """Returns whether the pooling of a model leaves out the tokens of the prompt."""
    modules: list[Any] = read_model_json(folder, "modules.json").get("", [])
    paths = [str(module.get("path")) for module in modules if isinstance(module, dict)]
    settings = [read_model_json(folder, f"{path}/config.json") for path in paths if path]
    return any(module.get("include_prompt") is False for module in settings)


def _saved_prompt(preset: Preset, side: Side) -> str | None:
    """Returns the prompt that a model's files say for one side."""
    folder = place_of(preset.side(side))
    if folder is None:
        return None
    saved = read_model_json(folder, "config_sentence_transformers.json")
    prompts, default = saved.get("prompts"), saved.get("default_prompt_name")
    return saved_prompt(prompts if isinstance(prompts, dict) else {}, default, side)


def _no_place(preset: Preset, template: Template | None) -> InputError:
    """Returns the error for an instruction that has no place in the prompt."""
    prompt = (
        "it has no query prompt" if template is None else f"its query prompt is {template.text!r}"
    )
    return InputError(
        f"instruction: the model {preset.name or preset.id} takes none: {prompt}",
        remedy=r"leave instruction out, or query_prompt='Instruct: {instruction}\nQuery: '",
    )


def _with_breaks(text: str) -> str:
    r"""Returns a text with line breaks for each \n of a shell's argument."""
    return text.replace("\\n", "\n")

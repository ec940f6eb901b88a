"""The record of a published model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["dense", "late", "sparse", "cross", "writer", "weigher", "llm"]
Side = Literal["query", "document"]


@dataclass(frozen=True)
class Preset:
    """The facts about a published model; see models.toml.

    Attributes:
        id: hub id or folder, of the document encoder if there are two.
        name: of the preset; empty for a model without a preset.
        alias: another name that a paper gives it.
        query: that of the query encoder, if it is another one.
        base: that of the model which a bottleneck adapter is for, if the weights are such adapters.
        kind: the kind of its outputs.
        package: a Python package that carries the weights, and its function that returns their location.
        extra: irtoolkit's extra that installs this package.
        pooling: how token vectors become one, if the weights are a plain transformer.
        similarity: of two vectors, as its authors compute it.
        query_prompt, document_prompt: put before a text; {instruction} in that of queries marks the
            position of the instruction, see `irtoolkit.models.prompts`.
        instruction: its queries' instruction unless a setting or a dataset has one.
        bare_prompt: the query prompt if there is no instruction at all.
        retriever: the retriever for it, if that is not the first choice for its kind.
        settings: those of that retriever, as `--set` takes them.
        query_task, document_task: the task of one side, in a model with an adapter for each task.
        query_length, doc_length: tokens after which a text is cut.
        cuts_special: whether truncation also cuts off the special tokens at the ends.
        join: text between the segments of a text; "sep" is the model's separator token.
        parameters: their number, as "109M".
        source: the source of these facts.
        paper: the papers with results of the system, and where.
        licence: of the weights, as their publisher states it.
        converted: how weights in a format of their own are made loadable.
        unpublished: what to do if no weights are published.
        note: what a user must know.
    """

    id: str
    name: str = ""
    alias: str | None = None
    query: str | None = None
    base: str | None = None
    kind: Kind = "dense"
    package: str | None = None
    extra: str | None = None
    pooling: str | None = None
    similarity: Literal["cosine", "dot", "l2"] | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    instruction: str | None = None
    bare_prompt: str | None = None
    retriever: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    query_task: str | None = None
    document_task: str | None = None
    query_length: int | None = None
    doc_length: int | None = None
    cuts_special: bool = False
    join: str = " "
    parameters: str = ""
    source: str = ""
    paper: str = ""
    licence: str = ""
    converted: str = ""
    unpublished: str = ""
    note: str = ""

    def task(self, side: Side) -> str | None:
        """Returns the task of one side; None of a model without adapters for tasks."""
        return self.query_task if side == "query" else self.document_task

    def side(self, side: Side) -> Preset:
        """Returns the model that encodes one side."""
        if side == "document" or self.query is None:
            return replace(self, query=None)
        # What a package carries is the other encoder.
        return replace(self, id=self.query, query=None, package=None, extra=None)

"""What retrievers with a pretrained model share: its settings, and both sides of a task encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from irtoolkit.models import presets
from irtoolkit.models.encoder import Encoder, How
from irtoolkit.models.loading import Precision
from irtoolkit.models.presets import Kind, Side
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.task import Segments, Task


@dataclass(frozen=True)
class Neural(Retriever):
    """A retriever with a pretrained model.

    Attributes:
        model: a preset (models.toml), a folder, or a hub id.
        precision: "fp32", "bf16" or "fp16"; "auto" is fp32 on a CPU, else bf16 where the GPU has it.
        device: a torch device; by default a GPU when there is one.
        batch_tokens: tokens encoded at once, padding included; by default 1,024 on a CPU and
            65,536 on a GPU, halved when the GPU's memory does not suffice.
    """

    kind: ClassVar[Kind] = "dense"
    # The kind of model that this retriever is the first choice for.
    applies: ClassVar[Kind | None] = None

    model: str = ""
    precision: Precision = "auto"
    device: str | None = None
    batch_tokens: int | None = None

    def missing(self) -> str | None:
        return presets.missing(self.model)

    def fingerprint(self) -> str | None:
        return presets.fingerprint(self.model)

    def asked(self, task: Task) -> list[Segments]:
        """(Q,) the text of each query as the model is to see it."""
        return task.queries

    def how(self, side: Side) -> How:
        """How one side is encoded."""
        return How(
            self.model, self.kind, side, precision=self.precision, device=self.device,
            batch_tokens=self.batch_tokens, **self.encoding(side),
        )  # fmt: skip

    def encoding(self, side: Side) -> dict[str, Any]:
        """More fields of `How`."""
        return {}


@dataclass(frozen=True)
class TwoSided(Neural):
    """A retriever whose model sees a query and a document one at a time.

    Attributes:
        query_model: the model that encodes queries, where it is another than `model` and no preset
            says so.
        query_length, doc_length: tokens after which a text is cut; by default the preset's, else
            the model's own.
    """

    query_model: str | None = None
    query_length: int | None = None
    doc_length: int | None = None

    def missing(self) -> str | None:
        return super().missing() or (
            presets.missing(self.query_model) if self.query_model else None
        )

    def fingerprint(self) -> str | None:
        own = super().fingerprint()
        return f"{own} {presets.fingerprint(self.query_model)}" if self.query_model else own

    def how(self, side: Side) -> How:
        how = super().how(side)
        return replace(how, model=self.query_model) if self.query_model and side == "query" else how

    def encoding(self, side: Side) -> dict[str, Any]:
        return {"length": self.query_length if side == "query" else self.doc_length}

    def encoder(self, side: Side) -> Encoder:
        return Encoder(self.how(side))

"""Base classes of retrievers with a pretrained model: its settings, and the encoders of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, ClassVar, Protocol, Self

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import current
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.models import loading, presets
from irtoolkit.models.cuts import Cut, CutOff
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.exported import Backend, chosen_backend
from irtoolkit.models.loading import Precision
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.prompts import PROMPT_SETTINGS, Prompts, leaves_out_prompt
from irtoolkit.retrievers.asking import instruction_of, query_field
from irtoolkit.retrievers.base import Retriever, Stores
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import mask_of


@dataclass(frozen=True)
class Neural(Retriever):
    """A retriever with a pretrained model.

    Attributes:
        model: a preset (`irtoolkit models`), a folder, or a hub id.
        weights: a folder or hub id to take in place of the preset's weights; what the preset says
            of pooling, similarity, prompts and lengths stays.
        precision: "fp32", "bf16", "fp16", or "int8" of linear layers; "auto" is fp32 on a CPU, else bf16
            where the GPU has it.
        device: a torch device; by default a GPU when there is one.
        batch_tokens: tokens encoded at once, padding included; by default 1,024 on a CPU and
            131,072 on a GPU, halved when the GPU's memory does not suffice.
        backend: what runs the model: "torch"; "onnx" (onnxruntime) or "openvino", for a model that
            is exported so, on a CPU and in the precision of the export; "auto" is torch where the
            model has weights for it, else onnx.
        trust_remote_code: whether code that comes with the model may run, with all rights that this
            command has; without it such a model is refused.
        instruction: what the queries are for, in words, for a model whose query prompt has a place
            for it; {field} stands for a field of the query's record. By default the dataset's own,
            else the preset's.
        query_prompt: text put before each query, with {instruction} where the instruction stands,
            and {field} where a field of the query's record does; \\n is a line break, and braces
            are doubled. By default the preset's, else the model's own.
        document_prompt: text put before each document; by default likewise.
    """

    stores: ClassVar[Stores] = "vectors"
    kind: ClassVar[Kind] = "dense"
    # The kind of model that this retriever is the first choice for.
    applies: ClassVar[Kind | None] = None
    # Whether the model reads a query as one text.
    reads_whole: ClassVar[bool] = True

    model: str = ""
    weights: str | None = None
    precision: Precision = "auto"
    device: str | None = None
    batch_tokens: int | None = None
    backend: Backend = "auto"
    trust_remote_code: bool = False
    instruction: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    def missing(self) -> str | None:
        return presets.missing_weights(self.preset()) or self._unfit_prompt()

    def _unfit_prompt(self) -> str | None:
        """Returns what is wrong with the prompts, or None."""
        try:
            template = self.prompt_settings().of_queries(self.preset())
            self.prompt_settings().of_documents(self.preset())
        except InputError as error:
            return str(error)
        if template is None or not template.names:
            return None
        field = f"the query prompt has {{{min(template.names)}}}"
        if not self.reads_whole:
            return f"{field}, and {self.name} compares parts of a query: give it no fields"
        if leaves_out_prompt(presets.place_of(self.preset().side("query")) or ""):
            return f"{field}, and the model {self.model} has to know its prompt: give it no fields"
        return None

    def fingerprint(self) -> str | None:
        return presets.weights_hash(self.preset())

    def also_reads(self, task: Task) -> Iterable[str]:
        yield from super().also_reads(task)
        template = self.prompt_settings().of_queries(self.preset())
        for name in sorted(template.names) if template else ():
            yield from query_field(task, name)

    def computed(self) -> dict[str, Any]:
        backend = chosen_backend(self.backend, presets.place_of(self.preset().side("document")))
        device = loading.torch_device(self.device, backend)
        precision = loading.chosen_precision(self.precision, device, backend)
        settings = {"device": device.partition(":")[0], "precision": precision}
        if self.model:
            settings |= self.prompt_settings().resolved(self.preset())
        return settings if backend == "torch" else {**settings, "backend": backend}

    def preset(self) -> presets.Preset:
        """Returns the preset of the model, with the weights to use."""
        return presets.find_preset(self.model, self.weights)

    def prompt_settings(self) -> Prompts:
        """The prompts that settings give."""
        return Prompts(self.query_prompt, self.document_prompt, self.instruction)

    def fitted(self, dataset: Dataset) -> Self:
        takes = self.instruction is None and self.prompt_settings().takes_instruction(self.preset())
        instruction = instruction_of(dataset) if takes and self.reads_whole else None
        return self if instruction is None else replace(self, instruction=instruction)

    def asked(self, task: Task) -> list[Segments]:
        """(Q,) the text of each query as the model is to see it."""
        return self.prompted(task, task.queries)

    def prompted(self, task: Task, texts: list[Segments]) -> list[Segments]:
        """Returns the texts of queries behind their prompts, where these differ.

        A prompt that all queries have in common is left to the encoder.

        Raises:
            InputError: the queries have no such field.
        """
        template = self.prompt_settings().of_queries(self.preset())
        if template is None or not template.names:
            return texts
        if task.typed:
            raise InputError(
                f"the query prompt has {{{min(template.names)}}}, and typed queries have no fields",
                remedy="instruction=TEXT or query_prompt=TEXT without it",
            )
        fields = {name: query_field(task, name) for name in template.names}
        before = (
            template.filled(dict(zip(fields, values, strict=True)))
            for values in zip(*fields.values(), strict=True)
        )
        return [
            (prompt + " ".join(text[:1]), *text[1:])
            for prompt, text in zip(before, texts, strict=True)
        ]

    def text_before(self, side: Side) -> str | None:
        """Returns what the encoder of a side puts before each text; None leaves it to the model."""
        if side == "document":
            return self.prompt_settings().of_documents(self.preset())
        template = self.prompt_settings().of_queries(self.preset())
        if template is None:
            return None
        return "" if template.names else template.filled({})

    def how(self, side: Side) -> EncoderSettings:
        """How one side is encoded."""
        return EncoderSettings(
            self.model,
            self.kind,
            side,
            weights=self.weights,
            precision=self.precision,
            device=self.device,
            batch_tokens=self.batch_tokens,
            backend=self.backend,
            trusted=self.trust_remote_code,
            prompt=self.text_before(side),
            **self.encoding(side),
        )

    def encoding(self, side: Side) -> dict[str, Any]:
        """More fields of `EncoderSettings`."""
        return {}


@dataclass(frozen=True)
class TwoSided(Neural):
    """A retriever whose model sees a query and a document one at a time.

    Attributes:
        query_weights: the folder or hub id of the query encoder, where queries have their own.
        query_length, doc_length: tokens after which a text is cut; by default the preset's, else
            the model's own.
        query_cut: what is cut off a query that is too long: its "end", its "start", or both "sides",
            so that `around` stays in the middle; by default the sides of a masked view, and else
            the end.
        around: text that stays in the middle of a query whose sides are cut; by default the token of
            a masked view. A query without it is cut at its end.
    """

    read_with: ClassVar = {"around": ("query_cut=sides",)}

    query_weights: str | None = None
    query_length: int | None = None
    doc_length: int | None = None
    query_cut: CutOff | None = None
    around: str | None = None

    def preset(self) -> presets.Preset:
        return presets.find_preset(self.model, self.weights, self.query_weights)

    def encoding(self, side: Side) -> dict[str, Any]:
        length = self.query_length if side == "query" else self.doc_length
        more = {"length": length, "query_weights": self.query_weights}
        return more if side == "document" else {**more, "cut": self._cut()}

    def for_queries(self, view: str) -> Self:
        token = mask_of(view)
        if token is None or self.query_cut in ("end", "start"):
            return self
        return replace(self, query_cut="sides", around=self.around or token)

    def scores_as(self, base: type[Retriever]) -> bool:
        # An index knows no fields of queries.
        return super().scores_as(base) and not self._prompt_fields()

    def needed_format(self) -> IndexFormat:
        fields = self._prompt_fields()
        if not fields:
            return super().needed_format()
        raise InputError(
            f"the query prompt has {{{min(fields)}}}, and the queries of an index have no fields",
            remedy="instruction=TEXT or query_prompt=TEXT without it; retrieve on a dataset reads fields",
        )

    def _prompt_fields(self) -> set[str]:
        """Returns the names of the fields of queries that the query prompt has."""
        template = self.prompt_settings().of_queries(self.preset())
        return set() if template is None else template.names

    def _cut(self) -> Cut | None:
        if self.query_cut == "sides" and self.around is None:
            raise InputError(
                "query_cut=sides: nothing says what stays in the middle of a query",
                remedy="a masked view of the queries, such as query=masked:[MASK], or around=TEXT",
            )
        return None if self.query_cut in (None, "end") else Cut(self.query_cut, self.around)

    def encoder(self, side: Side) -> Encoder:
        return Encoder(self.how(side))

    def parts_of(self, encoder: Encoder, texts: Sequence[Segments]) -> list[str]:
        """Returns the texts that the model encodes of some documents."""
        return [encoder.text(segments) for segments in texts]

    def index_settings(self) -> dict[str, Any]:
        """Everything that decides what is kept of a document."""
        settings = asdict(self.how("document"))
        for name in ("device", "batch_tokens", "weights", "query_weights", "cut", "backend"):
            del settings[name]
        if not settings["trusted"]:
            del settings["trusted"]
        preset = self.preset()
        settings["model"] = presets.weights_hash(preset.side("document"))
        # One folder of weights may be several presets, which take texts in other ways.
        settings["length"] = settings["length"] or preset.doc_length
        settings["pooling"] = settings["pooling"] or preset.pooling
        usual = presets.Preset("")
        for name in ("join", "cuts_special", "document_task"):
            if getattr(preset, name) != getattr(usual, name):
                settings[name] = getattr(preset, name)
        settings["options"] = [list(option) for option in settings["options"]]
        computed = self.computed()
        del computed["device"]
        for name in ("pooling", *PROMPT_SETTINGS):
            computed.pop(name, None)  # indexes have what `how` says of it
        return {"retriever": self.name, **settings, **computed}


def encode_ahead(retriever: Retriever, blocks: Iterable[Sequence[Segments]]) -> None:
    """Encodes documents by the workers of the engine, before an index of them is built.

    What a model makes of each block of documents is then found on disk.
    """
    if isinstance(retriever, TwoSided) and current().workers > 1:
        encoder = encoder_of(retriever, "document")
        parts = (retriever.parts_of(encoder, texts) for texts in blocks)
        encoder.prepare(parts, what="documents", count=None)


class _Encoding(Protocol):
    def encoder(self, side: Side) -> Any: ...


@cache
def encoder_of(retriever: _Encoding, side: Side) -> Any:
    """The encoder of a side, loaded once for texts that come one after another."""
    return retriever.encoder(side)

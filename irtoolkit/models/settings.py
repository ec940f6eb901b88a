"""The settings of encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.models.cuts import Cut
from irtoolkit.models.exported import Backend
from irtoolkit.models.loading import Precision
from irtoolkit.models.presets import Kind, Preset, Side

Stored = Literal["fp32", "fp16", "int8"]


@dataclass(frozen=True)
class EncoderSettings:
    """The settings with which texts are encoded.

    Attributes:
        model: preset, folder or hub id.
        weights, query_weights: other weights than the preset's; see `irtoolkit.models.presets.find_preset`.
        kind: the kind of the model's outputs.
        side: "query" or "document", for models that treat them differently.
        pooling: of the token vectors of a plain transformer; by default the preset's.
        length: tokens after which a text is cut; by default the preset's, or else the model's own.
        prompt: put before each text; by default the preset's, or else the model's own.
        precision: "fp32", "bf16", "fp16" or "int8"; "auto" is fp32 on a CPU and bf16 (fp16) on a
            GPU.
        stored: the format of vectors on disk; "int8" has a scale for each vector.
        options: of late interaction, or of parts of a text; see `irtoolkit.models.opening.load_adapter`.
        device: by default a GPU when there is one.
        batch_tokens: tokens at once; the default depends on the device.
        cut: how a longer text is cut; by default at its end.
        backend: "torch", "onnx" or "openvino"; "auto" is torch if the model has weights for it.
        trusted: whether code that comes with the model may run.
    """

    model: str
    kind: Kind
    side: Side
    weights: str | None = None
    query_weights: str | None = None
    pooling: str | None = None
    length: int | None = None
    prompt: str | None = None
    precision: Precision = "auto"
    stored: Stored = "fp32"
    options: tuple[tuple[str, Any], ...] = ()
    device: str | None = None
    batch_tokens: int | None = None
    cut: Cut | None = None
    backend: Backend = "auto"
    trusted: bool = False


def length_of(settings: EncoderSettings, preset: Preset, saved: bool) -> int | None:
    """Returns the tokens after which texts are cut: the setting's, the preset's, or None.

    A sentence-transformers folder that replaces a preset's weights has a length of its own, as has
    every model with None.
    """
    if settings.length is not None and settings.length < 1:
        raise InputError(f"a length of {settings.length} tokens is not at least 1")
    query = settings.side == "query"
    explicit = (settings.query_weights or settings.weights) if query else settings.weights
    if settings.length is not None or (saved and explicit is not None):
        return settings.length
    return preset.query_length if query else preset.doc_length

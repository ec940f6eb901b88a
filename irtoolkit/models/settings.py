"""The settings of encoding, as users give them and as a model is opened with them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading, presets
from irtoolkit.models.cuts import Cut
from irtoolkit.models.exported import Backend, chosen_backend, versions
from irtoolkit.models.loading import Precision
from irtoolkit.models.pooling import report_implied_pooling
from irtoolkit.models.presets import Kind, Preset, Side
from irtoolkit.models.prompts import preset_prompt

Stored = Literal["fp32", "fp16", "int8"]
# Counted up whenever this package comes to make something else of a text: old vectors are left.
_FORM = 1


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


@dataclass(frozen=True)
class AdapterSettings:
    """The settings with which a model encodes texts.

    Attributes:
        device: torch device that the model computes on.
        precision: "fp32", "bf16", "fp16" or "int8".
        pooling: how the token vectors of a plain transformer become one; "sparta" for SPARTA's
            sparse vectors. A sentence-transformers model has its own pooling.
        prompt: text put before each text; by default the model's own.
        limit: number of tokens after which a text is truncated; by default the model's own.
        options: options of a late-interaction model, ("expansion", bool) and ("skiplist", bool); or
            of a dense one that makes vectors of parts of a text, ("unit", "sentences" or "tokens")
            and ("skiplist", bool), see `irtoolkit.models.part_vectors`.
        cut: how a longer text is cut; None cuts it at its end, as the model itself does.
        backend: the backend that runs the model: "torch", "onnx" or "openvino".
        trusted: whether code that comes with the model may run.
        task: the name of the side in a model with an adapter for each task; by default the side's.
        base: folder of the model that the weights are a bottleneck adapter for, if they are one.
    """

    device: str
    precision: str
    pooling: str | None = None
    prompt: str | None = None
    limit: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    cut: Cut | None = None
    backend: str = "torch"
    trusted: bool = False
    task: str | None = None
    base: str | None = None


def chosen_settings(settings: EncoderSettings, preset: Preset, folder: str) -> AdapterSettings:
    """Returns the settings that a model is opened with: those of the user, the preset and the machine.

    Raises:
        InputError: a setting has no such value, or the model takes none.
    """
    backend = chosen_backend(settings.backend, folder)
    device = loading.torch_device(settings.device, backend)
    saved = bool(presets.read_model_json(folder, "modules.json"))
    if settings.pooling is not None and saved:
        raise InputError(
            f"pooling={settings.pooling}: the model {settings.model} says itself how it pools",
            remedy="leave pooling out",
        )
    pooling = settings.pooling or preset.pooling
    if settings.kind == "dense" and settings.side == "document" and pooling is None:
        report_implied_pooling(preset, settings.model)
    cut = settings.cut
    if preset.cuts_special and not saved:
        cut = replace(cut or Cut(), special=True)
    base = presets.base_of(preset.side(settings.side))
    prompt = settings.prompt
    return AdapterSettings(
        device,
        loading.chosen_precision(settings.precision, device, backend),
        pooling,
        preset_prompt(preset, settings.side) if prompt is None else prompt,
        _length(settings, preset, saved),
        settings.options,
        cut,
        backend,
        settings.trusted,
        preset.task(settings.side),
        None if base is None else presets.model_folder(presets.Preset(base)),
    )


def _length(settings: EncoderSettings, preset: Preset, saved: bool) -> int | None:
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


def store_name(
    settings: EncoderSettings, preset: Preset, chosen: AdapterSettings, limit: int | None
) -> str:
    """Returns the name of the vector store, a hash of everything that decides the vectors."""
    decides = {
        # Of this side's weights alone: documents are not encoded again for another query encoder.
        **asdict(settings),
        "model": presets.weights_hash(preset.side(settings.side)),
        "length": limit,
        "prompt": chosen.prompt,
        "pooling": chosen.pooling,
        "precision": chosen.precision,
        "libraries": versions(chosen.backend),
        "form": _FORM,
    }
    # These move no vector by more than the last bits, or are in the fingerprint.
    for key in ("device", "batch_tokens", "weights", "query_weights", "cut", "backend"):
        del decides[key]
    # Vectors of texts that are cut at their end were made before there was a choice.
    if chosen.cut is not None:
        decides["cut"] = asdict(chosen.cut)
    if chosen.backend != "torch":
        decides["backend"] = chosen.backend
    if not settings.trusted:
        del decides["trusted"]
    if chosen.task is not None:
        decides["task"] = chosen.task
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]

"""Exporting a model to ONNX, for backend=onnx and backend=openvino."""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.files import sha256
from irtoolkit.base.reasons import reason_of
from irtoolkit.models.converted import new_folder, write_record
from irtoolkit.models.own_code import check_own_code
from irtoolkit.models.places import CONVERSION, RECORD
from irtoolkit.models.presets import Preset, find_preset, model_folder, said_kind

FILE = "model.onnx"
ExportPrecision = Literal["fp32", "int8"]
# The classes of transformers, by the kind of a model.
MAKERS = {"dense": "AutoModel", "cross": "AutoModelForSequenceClassification"}
# What is not copied from the folder of a model: its weights, their record, other exports.
_LEFT_OUT = (
    "model*.safetensors",
    "pytorch_model*.bin",
    "*.index.json",
    RECORD,
    CONVERSION,
    "*.onnx",
    "*.onnx?data",
    "*.h5",
    "*.msgpack",
    "*.ot",
    "onnx",
    "openvino",
    "openvino_model.*",
    "README.md",
)
_WEIGHTS_OF_TORCH = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
# Outputs in single precision that differ by more are of another model.
CLOSE = 1e-3
_SHAPE = (2, 9)


class Differences(NamedTuple):
    """The largest differences between the outputs of an exported transformer and torch's.

    Attributes:
        exported: in single precision.
        rounded: in int8; None if it was not rounded.

    Both are shares of the largest output, or of 1 if that is larger.
    """

    exported: float
    rounded: float | None


def export_onnx(model: str, output: Path, precision: ExportPrecision = "fp32") -> Differences:
    """Writes the folder of a dense encoder or cross-encoder with its transformer as an ONNX file.

    Args:
        model: a preset, a folder, or a hub id.
        output: the folder, which must not be there yet.
        precision: of the weights: "fp32", or "int8" with ranges that are measured as the model runs.

    Returns:
        How far the exported transformer is from torch's, on texts of random tokens.

    Raises:
        InputError: a library or the model is missing; the model is of another kind, or torch cannot
            export it; or the output is there.
    """
    if precision not in get_args(ExportPrecision):
        raise InputError(f"no precision {precision!r} of an export", remedy="fp32, int8")
    for library in ("onnx", "onnxscript", "onnxruntime"):
        check_installed(library, "onnx")
    _, location, kind = one_transformer(model)
    if not (Path(location) / "config.json").is_file():
        raise InputError(f"{model} is no plain transformer: no config.json", file=location)
    if not any((Path(location) / name).is_file() for name in _WEIGHTS_OF_TORCH):
        raise InputError(f"{model} has no weights for torch to export", file=location)
    with new_folder(output) as folder:
        copy_around(location, folder)
        differences = _write(location, kind, folder, precision)
        sums = {FILE: sha256(folder / FILE)}
        write_record(folder, "onnx", sums, of=model, precision=precision)
    return differences


def one_transformer(model: str) -> tuple[Preset, str, str]:
    """Returns the preset, the folder and the kind of a dense encoder or cross-encoder.

    Raises:
        InputError: the model is missing, of another kind, or has two encoders.
    """
    preset = find_preset(model)
    if preset.query is not None:
        raise InputError(f"{model} has two encoders", remedy="convert the folder of each")
    location = model_folder(preset)
    kind = said_kind(location) or preset.kind
    if kind not in MAKERS:
        raise InputError(
            f"{model} makes {kind} representations", remedy="a dense encoder or a cross-encoder"
        )
    return preset, location, kind


def copy_around(location: str, folder: Path) -> None:
    """Copies the files in a model's folder other than the weights of its transformer."""
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(
        location,
        folder,
        dirs_exist_ok=True,
        ignore=lambda where, names: ignored(where, names) if where == location else set(),
    )


def _write(location: str, kind: str, folder: Path, precision: ExportPrecision) -> Differences:
    """Writes the ONNX file of a transformer."""
    import torch
    import transformers

    maker = getattr(transformers, MAKERS[kind])
    transformers.utils.logging.disable_progress_bar()
    check_own_code(location, setting=False)
    model_object = maker.from_pretrained(
        location, attn_implementation="eager", trust_remote_code=False
    )
    model_object = model_object.float().eval()
    words = transformers.AutoTokenizer.from_pretrained(location, trust_remote_code=False)
    positions = (
        getattr(model_object.config, "max_position_embeddings", None) or words.model_max_length
    )
    free = {
        0: torch.export.Dim("batch"),
        1: torch.export.Dim("tokens", max=min(words.model_max_length, positions)),
    }
    inputs = example(model_object, words, _SHAPE)
    model_object.config.return_dict = False
    try:
        with _quiet():
            torch.onnx.export(
                model_object,
                kwargs=inputs,
                f=folder / FILE,
                dynamo=True,
                verbose=False,
                external_data=False,
                dynamic_shapes=dict.fromkeys(inputs, free),
                input_names=list(inputs),
                output_names=["logits" if kind == "cross" else "last_hidden_state"],
            )
    except Exception as error:  # of torch.export and its many parts
        reason = reason_of(error)
        raise InputError(f"torch cannot export it: {reason}", file=location) from None
    tried = example(model_object, words, (3, 5))
    exported = difference(model_object, tried, folder)
    if not exported <= CLOSE:
        raise InputError(f"what was exported differs from torch by {exported:.1e} of its outputs")
    if precision == "fp32":
        return Differences(exported, None)
    _round(folder / FILE)
    return Differences(exported, difference(model_object, tried, folder))


def example(model: Any, words: Any, shape: tuple[int, int]) -> dict[str, Any]:
    """Inputs of a transformer, of which the last text is shorter than the others."""
    import torch

    drawn = torch.randint(
        0, model.config.vocab_size, shape, generator=torch.Generator().manual_seed(0)
    )
    mask = torch.ones(shape, dtype=torch.int64)
    mask[-1, -2:] = 0
    if words.pad_token_id is not None:
        drawn[drawn == words.pad_token_id] = words.unk_token_id or 0
        drawn[mask == 0] = words.pad_token_id
    tensors = {
        "input_ids": drawn,
        "attention_mask": mask,
        "token_type_ids": torch.zeros_like(drawn),
    }
    return {name: value for name, value in tensors.items() if name in words.model_input_names}


def difference(model: Any, inputs: dict[str, Any], folder: Path) -> float:
    """Returns the largest difference between outputs of torch and of the exported file."""
    import torch

    from irtoolkit.models.runtimes import load_exported

    with torch.inference_mode():
        ours = load_exported("onnx", str(folder))(**inputs)[0]
        theirs = model(**inputs)[0]
        if theirs.ndim == 3:  # tokens that are masked count for nothing
            mask = inputs["attention_mask"].bool()
            ours, theirs = ours[mask], theirs[mask]
        return float((ours - theirs).abs().max() / max(1.0, float(theirs.abs().max())))


def _round(file: Path) -> None:
    """Rounds the weights of an ONNX file to int8."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    model = onnx.load(file)
    # Shapes that the exporter has noted are at odds with those that are inferred here.
    del model.graph.value_info[:]
    with _quiet():
        quantize_dynamic(model, file)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the exporting libraries within the block."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(("torch", "onnx"))]
    loggers = [logging.getLogger(name) for name in ("", *names)]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)

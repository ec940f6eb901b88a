"""The checkpoint that a recipe starts from."""

from __future__ import annotations

from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading, presets
from irtoolkit.models.exported import chosen_backend
from irtoolkit.models.own_code import check_code_ran, check_own_code
from irtoolkit.models.presets import Kind, Preset, Side
from irtoolkit.training.recipes import Recipe

SIDES: tuple[Side, Side] = ("query", "document")

# Kinds of checkpoint that a model of each kind may start from. A plain transformer may become a
# model of any kind except sparse.
_STARTS: dict[Kind, tuple[Kind, ...]] = {
    "dense": ("dense",),
    "late": ("late", "dense"),
    "sparse": ("sparse",),
    "cross": ("cross", "dense"),
}


def start_of(recipe: Recipe, side: Side) -> str:
    """Returns the name of the base model of a side."""
    return recipe.query_start or recipe.start if side == "query" else recipe.start


def find_checkpoint(recipe: Recipe, side: Side) -> tuple[Preset, str]:
    """Returns the preset of a side's base model, and its folder or hub id.

    Raises:
        InputError: the base model is missing or has no weights for torch, or a model of the recipe's
            kind cannot start from it.
    """
    name = recipe.start
    if side == "query" and recipe.query_start is not None:
        name = recipe.query_start
    # With one encoder, a preset's own query encoder is not used.
    preset = presets.find_preset(name).side(side if recipe.encoders == 2 else "document")
    setting = "query_start" if name == recipe.query_start else "start"
    missing = presets.missing_weights(preset, setting)
    if missing is not None:
        raise InputError(missing)
    folder = presets.model_folder(preset)
    base = presets.base_of(preset)
    if base is not None:
        raise InputError(
            f"{name} is a bottleneck adapter", remedy=f"{setting}={base}, its base model"
        )
    backend = chosen_backend("auto", folder)
    if backend != "torch":
        remedy = f"irtoolkit convert torch {name} -o FOLDER, and start=FOLDER"
        raise InputError(
            f"{name} has weights for {backend} only, which cannot be trained",
            remedy=remedy if backend == "onnx" else "the model that was exported",
        )
    kind_of_folder = presets.said_kind(folder)
    saved = bool(presets.read_model_json(folder, "config_sentence_transformers.json"))
    plain = kind_of_folder is None or (kind_of_folder in ("sparse", "cross") and not saved)
    fits = kind_of_folder in _STARTS[recipe.kind] or (plain and recipe.kind != "sparse")
    if preset.kind not in presets.SAVED_AS or not fits:
        kind = preset.kind if preset.kind not in presets.SAVED_AS else kind_of_folder
        raise InputError(
            f"a model of kind {recipe.kind} cannot start from {name}"
            + (f", which is of kind {kind}" if kind else ""),
            remedy="a masked language model" if recipe.kind == "sparse" else "a plain transformer",
        )
    if presets.read_model_json(folder, "config.json").get("model_type") == "dpr":
        raise InputError(
            f"{name} is in DPR's own format, which cannot be trained here",
            remedy="start from BERT, or from a sentence-transformers folder of DPR",
        )
    return preset, folder


def open_checkpoint(recipe: Recipe, folder: str, new_head: bool = False, **options: Any) -> Any:
    """Returns a model of the recipe's kind, in fp32 on the CPU.

    Args:
        recipe: gives the kind.
        folder: folder or hub id of the checkpoint.
        new_head: whether the model gets an output layer that the checkpoint lacks.
        **options: options of the library's class.
    """
    trusted = bool(recipe.trust_remote_code)
    check_own_code(folder, trusted)
    model = loading.load_model(
        folder,
        lambda: loading.open_model(recipe.kind, folder, trusted, **options),
        "fp32",
        "cpu",
        pooled=recipe.kind == "cross" and not new_head,
        new_head=new_head,
    )
    check_code_ran(folder, model, trusted)
    return model

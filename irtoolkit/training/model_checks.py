"""Checks of a recipe's settings, which need neither its data nor its base model."""

from __future__ import annotations

from irtoolkit.base.errors import InputError
from irtoolkit.measures.traits import traits
from irtoolkit.models.presets import COMPARED_AS
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.training.losses import check_stage
from irtoolkit.training.lstm import FROM_SCRATCH, KNOWING
from irtoolkit.training.recipes import Recipe, Stage, check_evaluation


def check_recipe(recipe: Recipe) -> None:
    """Raises InputError for the first setting with which no training can begin."""
    check_evaluation(recipe)
    check_model(recipe)
    if recipe.query_map:
        _check_map(recipe)
    for stage in recipe.stages:
        check_stage(recipe, stage)
        _check_measure(stage)


def _check_measure(stage: Stage) -> None:
    """Raises InputError for a measure that cannot be computed, or whose figures have other names than its own."""
    if stage.measure is None:
        return
    parsed = parse_measures([stage.measure])
    try:
        # Which way is better is asked by the name, after an evaluation; trec_eval's are not known there.
        traits(stage.measure)
        # P is a group of trec_eval's, whose figures have other names.
        valid = stage.measure in parsed
    except (NameError, ValueError):
        valid = False
    if not valid:
        raise InputError(
            f"measure={stage.measure} is trec_eval's name",
            remedy=f"measure={next(iter(parsed.values()))}",
        )


def check_model(recipe: Recipe) -> None:
    """Raises InputError for the first setting that is not for models of the recipe's kind."""
    _check_kind(recipe)
    _check_adapters(recipe)
    if recipe.query_start is not None and recipe.encoders != 2:
        raise InputError(f"query_start={recipe.query_start} with one encoder", remedy="encoders=2")
    if recipe.sememes is not None and recipe.encoders != 2:
        raise InputError(
            "sememes are added to the tokens of documents, and queries share their encoder",
            remedy="encoders=2",
        )
    if recipe.start in FROM_SCRATCH:
        _check_scratch(recipe)
    if recipe.about is not None and recipe.start != "nnqr":
        raise InputError(
            f"about={recipe.about}: only start=nnqr reads topics and authors",
            remedy="leave about out",
        )
    for key in ("words", "width"):
        value = getattr(recipe, key)
        if value is not None and recipe.start not in FROM_SCRATCH:
            raise InputError(
                f"{key}={value}: {recipe.start} has words and a width of its own",
                remedy=f"leave {key} out, or start={' or '.join(FROM_SCRATCH)}",
            )
    if not recipe.start.strip():
        raise InputError("the recipe names no base model", remedy="start=PRESET, folder or hub id")


def _check_kind(recipe: Recipe) -> None:
    dense, cross = recipe.kind == "dense", recipe.kind == "cross"
    similarities = {"dense": (None, *COMPARED_AS), "sparse": (None, "dot")}
    wrong = {
        "encoders": recipe.encoders == 2 and not dense,
        "pooling": recipe.pooling != "own" and not dense,
        "query_pooling": recipe.query_pooling is not None and not dense,
        "sememes": recipe.sememes is not None and not dense,
        "labels": recipe.labels != 1 and not cross,
        "query_length": recipe.query_length is not None and cross,
        "similarity": recipe.similarity not in similarities.get(recipe.kind, (None,)),
    }
    remedies = {
        "query_length": "give the length of both texts together as doc_length",
        "similarity": "leave similarity out",
    }
    for name, refused in wrong.items():
        if refused:
            raise InputError(
                f"{name}={getattr(recipe, name)} is not for models of kind {recipe.kind}",
                remedy=remedies.get(name),
            )


def _check_adapters(recipe: Recipe) -> None:
    """Raises InputError for settings of adapters that do not go together."""
    for key in ("lora_alpha", "lora_dropout", "lora_targets", "quantize"):
        value = getattr(recipe, key)
        if value is not None and recipe.lora is None:
            raise InputError(f"{key}={value} without adapters", remedy="lora=16 sets their rank")
    if recipe.quantize and recipe.fsdp:
        raise InputError(
            "quantize=4bit with fsdp=true: torch cannot share 4-bit weights",
            remedy="leave one of them out",
        )


def _check_map(recipe: Recipe) -> None:
    """Raises InputError for settings with which no map of queries is trained."""
    frozen = any(stage.frozen == "documents" for stage in recipe.stages)
    wrong = {
        f"kind={recipe.kind}": recipe.kind != "dense",
        f"start={recipe.start}": recipe.start in FROM_SCRATCH,
        "encoders=2": recipe.encoders != 1,
        f"query_pooling={recipe.query_pooling}": recipe.query_pooling is not None,
        f"lora={recipe.lora}": recipe.lora is not None,
        "fsdp=true": bool(recipe.fsdp),
        "checkpointing=true": recipe.checkpointing,
        "frozen=documents": frozen,
        "chunk": any(stage.chunk is not None for stage in recipe.stages),
        f"{len(recipe.stages)} stages": len(recipe.stages) > 1,
    }
    for setting, refused in wrong.items():
        if refused:
            raise InputError(
                f"query_map=true with {setting}: a linear map is trained upon one encoder, which does"
                " not change",
                remedy="leave one of the two out",
            )


def _check_scratch(recipe: Recipe) -> None:
    """Raises InputError for settings that only a transformer has."""
    poolings = (None, "own", "mean", "max")
    wrong = {
        f"kind={recipe.kind}": recipe.kind != "dense",
        f"query_start={recipe.query_start}": recipe.query_start is not None,
        f"sememes={recipe.sememes}": recipe.sememes is not None,
        "checkpointing=true": recipe.checkpointing,
        f"lora={recipe.lora}": recipe.lora is not None,
        "join=sep": recipe.join == "sep",
        f"pooling={recipe.pooling}": recipe.pooling not in poolings,
        f"query_pooling={recipe.query_pooling}": recipe.query_pooling not in poolings,
    }
    for setting, refused in wrong.items():
        if refused:
            raise InputError(f"{setting} is not for start={recipe.start}")
    if recipe.start == "nnqr" and recipe.encoders != 2:
        raise InputError("start=nnqr has two encoders", remedy="encoders=2")
    if recipe.start in KNOWING and (recipe.encoders, recipe.pooling) != (2, "own"):
        raise InputError(
            f"start={recipe.start} has two encoders and no pooling",
            remedy="encoders=2, and leave pooling out",
        )
    if recipe.encoders == 1 and recipe.query_pooling not in (None, recipe.pooling):
        raise InputError(
            f"query_pooling={recipe.query_pooling} with one encoder", remedy="encoders=2"
        )

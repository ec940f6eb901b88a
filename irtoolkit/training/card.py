"""The model card of a trained model: its recipe, data, figures and origin."""

from __future__ import annotations

from typing import Any

from irtoolkit.base.markup import markdown_table
from irtoolkit.training.lstm import FROM_SCRATCH
from irtoolkit.training.recipes import Recipe, Stage

# Settings that the card lists if they differ from the default; training.json has all.
_SHOWN = (
    "dataset",
    "file",
    "query",
    "doc",
    "loss",
    "scale",
    "negatives",
    "count",
    "teacher",
    "frozen",
    "grouped",
    "batch",
    "rate",
    "schedule",
    "warmup",
    "decay",
    "epochs",
    "measure",
    "patience",
)
_RETRIEVERS = {"dense": "dense", "late": "late", "sparse": "sparse", "cross": "cross-encoder"}


def model_card(recipe: Recipe, record: dict[str, Any], own_code: bool = False) -> str:
    """Returns the model card, in the format of the Hugging Face Hub.

    Args:
        recipe: the recipe of the model.
        record: the record of its training, see `irtoolkit.training.trainer.TrainedModel`.
        own_code: whether the model has modules of irtoolkit.
    """
    kind = {"cross": "text-ranking"}.get(recipe.kind, "sentence-similarity")
    head = [
        "---",
        "library_name: sentence-transformers",
        f"pipeline_tag: {kind}",
        *([] if recipe.start in FROM_SCRATCH else [f"base_model: {recipe.start}"]),
        "tags:",
        "- irtoolkit",
        f"- {recipe.kind}",
        "---",
        "",
    ]
    source = record["implementation"]["source"]
    text = [
        f"# {recipe.title or recipe.name}",
        "",
        f"Trained with `irtoolkit train {recipe.name}`"
        + (f", following {recipe.paper}." if recipe.paper else "."),
        *(["", recipe.note] if recipe.note else []),
        "",
        f"Base model: {recipe.start}; encoders: {recipe.encoders}; seed: {recipe.seed};"
        f" commit: {source['commit'] or 'unknown'}; date: {record['date']}.",
    ]
    parts = [
        line
        for number, (stage, stage_record) in enumerate(
            zip(recipe.stages, record["stages"], strict=True), 1
        )
        for line in _stage(number, len(recipe.stages), stage, stage_record)
    ]
    return "\n".join([*head, *text, *parts, *_use(recipe, own_code)])


def _stage(number: int, count: int, stage: Stage, record: dict[str, Any]) -> list[str]:
    default = Stage()
    settings = [
        f"- {name}: {getattr(stage, name)}"
        for name in _SHOWN
        if getattr(stage, name) != getattr(default, name) or name in ("loss", "batch", "rate")
    ]
    lines = [
        "",
        f"## Stage {number} of {count}" if count > 1 else "## Training",
        "",
        f"{record['rows']} rows of {record['data']}, {record['steps']} steps,"
        f" {record['seconds']} seconds, {record['rows per second']} rows per second,"
        f" at most {record['peak memory MiB']} MiB of memory.",
        "",
        *settings,
    ]
    best = record["best"]
    if best is not None:
        on = stage.evaluate or f"held-out rows of {record['data']}"
        lines += ["", f"Evaluated on {on}; the model is that of step {best['step']}.", ""]
        names = list(best["figures"])
        rows = [
            [str(row["step"]), *(f"{row['figures'][name]:.4f}" for name in names)]
            for row in record["evaluations"]
        ]
        lines += markdown_table(["step", *names], rows)
    return lines


def _use(recipe: Recipe, own_code: bool) -> list[str]:
    from irtoolkit.models.presets import SAVED_AS

    retriever, family = _RETRIEVERS[recipe.kind], SAVED_AS[recipe.kind]
    # Without it sentence-transformers does not import modules of other packages.
    trusted = ", trust_remote_code=True" if own_code else ""
    dataset, view = recipe.stages[-1].evaluate or "DATASET", recipe.stages[-1].query
    view_option = "" if view == "default" else f" query='{view}'"
    return [
        "",
        "## Use",
        "",
        "```sh",
        f"irtoolkit retrieve {dataset} {retriever} --set model=FOLDER{view_option} -o run.txt",
        "```",
        "",
        "```python",
        f"from sentence_transformers import {family}",
        f'model = {family}("FOLDER"{trusted})',
        *(["# irtoolkit must be installed: the model uses its modules"] if own_code else []),
        "```",
        "",
    ]

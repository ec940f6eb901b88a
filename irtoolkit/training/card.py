"""The card of a trained model: data, recipe, measures and where it was made."""

from __future__ import annotations

from typing import Any

from irtoolkit.training.lstm import SCRATCH
from irtoolkit.training.recipes import Recipe, Stage

# What a reader of the card looks for first; the rest is in training.json.
_SHOWN = (
    "dataset", "file", "query", "doc", "loss", "scale", "negatives", "count", "teacher", "frozen",
    "grouped", "batch", "rate", "schedule", "warmup", "decay", "epochs", "measure", "patience",
)  # fmt: skip
_RETRIEVERS = {
    "dense": "dense", "late": "late", "sparse": "sparse", "cross": "cross-encoder",
}  # fmt: skip


def write(recipe: Recipe, record: dict[str, Any], own: bool = False) -> str:
    """A model card in the Hub's format.

    Args:
        recipe: what the model was trained by.
        record: what its training has left, see `irtoolkit.training.trainer.Trained`.
        own: whether it has modules of irtoolkit's.
    """
    kind = {"cross": "text-ranking"}.get(recipe.kind, "sentence-similarity")
    head = [
        "---", "library_name: sentence-transformers", f"pipeline_tag: {kind}",
        *([] if recipe.start in SCRATCH else [f"base_model: {recipe.start}"]), "tags:",
        "- irtoolkit", f"- {recipe.kind}", "---", "",
    ]  # fmt: skip
    source = record["implementation"]["source"]
    made = [
        f"# {recipe.title or recipe.name}",
        "",
        f"Trained with `irtoolkit train {recipe.name}`"
        + (f", after {recipe.paper}." if recipe.paper else "."),
        *(["", recipe.note] if recipe.note else []),
        "",
        f"Start: {recipe.start}; encoders: {recipe.encoders}; seed: {recipe.seed};"
        f" commit: {source['commit'] or 'unknown'}; date: {record['date']}.",
    ]
    parts = [
        line
        for number, (stage, found) in enumerate(
            zip(recipe.stages, record["stages"], strict=True), 1
        )
        for line in _stage(number, len(recipe.stages), stage, found)
    ]
    return "\n".join([*head, *made, *parts, *_use(recipe, own)])


def _stage(number: int, count: int, stage: Stage, found: dict[str, Any]) -> list[str]:
    default = Stage()
    told = [
        f"- {name}: {getattr(stage, name)}"
        for name in _SHOWN
        if getattr(stage, name) != getattr(default, name) or name in ("loss", "batch", "rate")
    ]
    lines = [
        "",
        f"## Stage {number} of {count}" if count > 1 else "## Training",
        "",
        f"{found['rows']} rows of {found['data']}, {found['steps']} steps,"
        f" {found['seconds']} seconds, {found['rows per second']} rows a second,"
        f" {found['peak memory MiB']} MiB at most.",
        "",
        *told,
    ]
    best = found["best"]
    if best is not None:
        on = stage.evaluate or f"held-out rows of {found['data']}"
        lines += ["", f"Measured on {on}; the model is that of step {best['step']}.", ""]
        names = list(best["figures"])
        lines += [f"| step | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
        for row in found["evaluations"]:
            figures = [f"{row['figures'][name]:.4f}" for name in names]
            lines.append(f"| {row['step']} | {' | '.join(figures)} |")
    return lines


def _use(recipe: Recipe, own: bool) -> list[str]:
    from irtoolkit.models.presets import SAVED_AS

    retriever, family = _RETRIEVERS[recipe.kind], SAVED_AS[recipe.kind]
    # sentence-transformers imports the modules of other packages only when it is told to.
    trusted = ", trust_remote_code=True" if own else ""
    dataset, view = recipe.stages[-1].evaluate or "DATASET", recipe.stages[-1].query
    shown = "" if view == "default" else f" query='{view}'"
    return [
        "", "## Use", "", "```sh",
        f"irtoolkit retrieve {dataset} {retriever} --set model=FOLDER{shown} -o run.txt", "```",
        "", "```python", f"from sentence_transformers import {family}", f'model = {family}("FOLDER"{trusted})',
        *(["# with irtoolkit installed, whose modules it has"] if own else []),
        "```", "",
    ]  # fmt: skip

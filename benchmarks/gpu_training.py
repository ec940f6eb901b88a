"""Training beside sentence-transformers' trainer, and MiniLM's recipes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import training
from gpu_setting import Check, MissingError, Setting
from training import Trial

_NEEDS = ("accelerate", "datasets")


def throughput(setting: Setting) -> dict[str, Any]:
    """Rows a second, ours and sentence-transformers', and the share of the matrix rate."""
    steps = 40 if setting.gpu else 4
    trial = Trial(
        "irtoolkit", setting.shape, setting.start, steps=steps, warm=8 if setting.gpu else 1,
        device=setting.device, precision="bf16" if setting.gpu else "fp32",
    )  # fmt: skip
    rows = training.throughput(trial, 1, setting.rate, setting.home)
    return {"rows": rows}


def agreement(setting: Setting) -> dict[str, Any]:
    """The losses of both trainers on the same batch."""
    trial = Trial("irtoolkit", setting.shape, "", steps=3, device=setting.device)
    precisions: list[Any] = ["fp32", "bf16"] if setting.gpu else ["fp32"]
    return {"rows": training.agreement(trial, precisions, setting.home)}


def recipes(setting: Setting) -> dict[str, Any]:
    """MiniLM's recipes on the samples, and on a GPU the rate of one on invented texts.

    The model is `Setting.model` or the preset, and is trained in the GPU's own precision. What a
    trained model is worth is measured by minilm.py, which needs the releases.
    """
    from irtoolkit.models import presets
    from irtoolkit.training.recipe_files import find_recipe
    from irtoolkit.training.trainer import train

    if setting.model is None:
        missing = presets.missing_weights(presets.find_preset("all-MiniLM-L6-v2"))
        if missing is not None:
            raise MissingError(f"{missing} (--model FOLDER)")
    found: dict[str, Any] = {}
    for number, (name, data) in enumerate(_trainings(setting)):
        settings = dict(data)
        if setting.model is not None:
            settings["start"] = setting.model
        if not setting.gpu:
            settings |= {"epochs": 1, "batch": 8, "query_length": 16, "doc_length": 16}
        made = train(
            find_recipe(name, settings), setting.home / f"trained-{number}", device=setting.device
        )
        for stage in made.record["stages"]:
            losses = [told["loss"] for told in stage["losses"]]
            assert np.isfinite(losses).all(), f"{name}: the losses are {losses}"
            found[f"{name}, {stage['data']}"] = {
                key: stage[key] for key in ("rows", "steps", "seconds", "rows per second")
            }
    return {"recipes": found}


def _trainings(setting: Setting) -> list[tuple[str, dict[str, Any]]]:
    """Recipes, with settings that name data."""
    examples = setting.home / "examples.jsonl"
    lines = [
        {"id": f"e{i}", "text": f"for example {text}", "left": f"{text} is", "right": "so"}
        for i, text in enumerate(setting.texts(setting.count(200, 12), seed=9))
    ]
    examples.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    surroundings = {"1.dataset": "relic/sample/train", "2.dataset": "relic/sample/train/1-1"}
    found: list[tuple[str, dict[str, Any]]] = [
        ("minilm", {"dataset": "egret/sample/train"}),
        ("minilm-examples", {"1.file": str(examples), "2.dataset": "egret/sample/train"}),
        ("minilm-surroundings", {**surroundings, "1.epochs": 1}),
    ]
    if setting.gpu:
        half = setting.texts(2 * 6_400, seed=10)
        invented = training.registered(half[:6_400], half[6_400:])
        found += [
            ("minilm", {"benchmark": "quoter", "dataset": "quoter/sample/en/train"}),
            ("minilm", {"dataset": invented}),
        ]
    return found


CHECKS = [
    Check("training", throughput, 50, _NEEDS),
    Check("training: agreement", agreement, 20, _NEEDS),
    Check("recipes", recipes, 90, _NEEDS),
]

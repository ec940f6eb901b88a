"""Paths of trained models, by which the tables of the papers find them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irtoolkit.base.jsons import load_json
from irtoolkit.datasets.cache import cache_home
from irtoolkit.models.places import RECORD as RECORD
from irtoolkit.training.recipe_files import recipe_names, recipe_variables
from irtoolkit.training.recipes import Recipe

# What plans of earlier versions do not say, by a setting beside it: what was then done always.
_ADDED: dict[str, dict[str, Any]] = {
    "near": {"apart": True, "pairs": "all"},
    "alpha": {"lookup": "longest"},
}


def trained_folder(recipe: str, settings: Mapping[str, Any] | None = None) -> Path:
    """Returns the default folder of the model that a recipe with some settings trains.

    Args:
        recipe: name of the recipe, or path of its file.
        settings: settings as given with --set, in any order; a variable with its default value may
            be left out.
    """
    usual = {key: default for key, (default, _) in recipe_variables(recipe).items()}
    settings = {k: v for k, v in (settings or {}).items() if usual.get(k) != str(v)}
    parts = [f"{key}={str(value).replace('/', '-')}" for key, value in sorted(settings.items())]
    name = ",".join([Path(recipe).stem, *parts])
    if recipe not in recipe_names():  # a file may have the name of one of irtoolkit's recipes
        digest = hashlib.sha256(str(Path(recipe).absolute()).encode()).hexdigest()[:8]
        name = f"{name},{digest}"
    if len(name) > 120:  # paths in settings can make it longer than file names may be
        name = f"{name[:100]},{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return cache_home() / "trained" / name


def trained_by(folder: Path, recipe: Recipe) -> bool:
    """Returns whether the model in a folder was trained by a recipe with the same settings."""
    try:
        plan_settings = load_json((folder / RECORD).read_text("utf-8"))["plan"]["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(comparable(plan_settings) == comparable(recipe.settings()))


def comparable(plan: Any) -> Any:
    """Returns a plan as JSON without the settings that are None.

    So a plan stays the same if a later version of irtoolkit adds a setting that is None by default,
    or one whose value in earlier versions is known.
    """
    if isinstance(plan, Mapping):
        for names, added in _ADDED.items():
            plan = {**added, **plan} if names in plan else plan
        return {key: comparable(value) for key, value in plan.items() if value is not None}
    if isinstance(plan, list | tuple):
        return [comparable(value) for value in plan]
    return plan


def is_trained(folder: Path) -> bool:
    """Returns whether a folder has a model whose training is complete."""
    return (folder / RECORD).is_file()

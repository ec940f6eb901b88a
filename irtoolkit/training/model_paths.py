"""Where trained models are kept, so that the experiment tables find them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irtoolkit.datasets.cache import cache_home
from irtoolkit.training.recipes import Recipe, recipes, variables

# Stands in a model's folder when its training has ended; what it was trained by is in it.
RECORD = "training.json"


def trained_folder(recipe: str, settings: Mapping[str, Any] | None = None) -> Path:
    """The folder that a recipe with some settings is trained into where none is named.

    Args:
        recipe: its name.
        settings: as given with --set; their order does not matter, and a variable's default may
            be left out.
    """
    usual = {key: default for key, (default, _) in variables(recipe).items()}
    settings = {k: v for k, v in (settings or {}).items() if usual.get(k) != str(v)}
    parts = [f"{key}={str(value).replace('/', '-')}" for key, value in sorted(settings.items())]
    name = ",".join([Path(recipe).stem, *parts])
    if recipe not in recipes():  # a file of one's own may have the name of ours
        own = hashlib.sha256(str(Path(recipe).absolute()).encode()).hexdigest()[:8]
        name = f"{name},{own}"
    if len(name) > 120:  # paths among the settings are longer than file names may be
        name = f"{name[:100]},{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return cache_home() / "trained" / name


def trained_by(folder: Path, recipe: Recipe) -> bool:
    """Whether the model in a folder was trained by a recipe with these very settings."""
    try:
        made = json.loads((folder / RECORD).read_text("utf-8"))["plan"]["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(comparable(made) == comparable(recipe.settings()))


def comparable(plan: Any) -> Any:
    """A plan as JSON without what is not set, so that an option that has come since it was made
    makes it no other plan."""
    if isinstance(plan, Mapping):
        return {key: comparable(value) for key, value in plan.items() if value is not None}
    if isinstance(plan, list | tuple):
        return [comparable(value) for value in plan]
    return plan


def is_trained(folder: Path) -> bool:
    """Whether a training has ended in a folder."""
    return (folder / RECORD).is_file()

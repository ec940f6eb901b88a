"""The grid of a search for the settings of a training, and the figures of its points."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.recipes import Recipe, Stage

# Share of the training queries that is held out where neither the recipe nor a setting says so.
SHARE = 0.2
# A model is measured when it is trained, and not before.
_AT_THE_END = 1 << 40
# Settings that decide which queries are held out, and what they are measured by.
_GIVEN = (
    "source",
    "dataset",
    "file",
    "pairs",
    "grouped",
    "held_out",
    "evaluate",
    "measure",
    "ways",
    "seed",
)


@dataclass(frozen=True)
class TriedSettings:
    """The result of settings that a model was trained with on a part of the training queries.

    Attributes:
        settings: the settings, as in the grid.
        figure: the measure on the held-out training queries; None if the training failed.
        rows: number of rows trained on.
        held_out: number of queries that were held out.
        steps: number of steps; 0 if the training failed.
        seconds: duration of the training, without measuring; 0 if it failed.
        failed: why it failed; None if it did not.
    """

    settings: dict[str, str]
    figure: float | None
    rows: int
    held_out: int
    steps: int
    seconds: float
    failed: str | None = None


@dataclass(frozen=True)
class TrainingSearch:
    """A search for the settings of a training.

    Attributes:
        recipe: name of a recipe, or the path of its file.
        grid: values of each setting. A `count` applies only with negatives, and a `run` only with
            mined ones.
        fixed: further settings; `held_out` is the share that is held out, by default the recipe's,
            else SHARE.
        by: measure that selects the settings; None is that of the recipe's last stage, else RR.
        seeds: seeds of the models that are trained on everything; the search uses the first.
    """

    recipe: str
    grid: Mapping[str, Sequence[str]]
    fixed: Mapping[str, Any]
    by: str | None = None
    seeds: Sequence[int] | None = None

    def configurations(self) -> list[dict[str, str]]:
        """Returns every combination of the grid's values, each once.

        Raises:
            InputError: a setting is both fixed and in the grid, or cannot be searched.
        """
        for key in self.grid:
            if key in self.fixed:
                raise InputError(f"setting {key} is both fixed and in the grid")
            if key.rpartition(".")[2] in _GIVEN:
                raise InputError(
                    f"{key} is not a setting to choose: it decides what is measured",
                    remedy="give it once: a dataset, --held-out, --by, --seeds or --set",
                )
        products = itertools.product(*self.grid.values())
        points = [self._applying(dict(zip(self.grid, values, strict=True))) for values in products]
        return [point for i, point in enumerate(points) if point not in points[:i]]

    def _applying(self, point: dict[str, str]) -> dict[str, str]:
        """Returns a combination without the settings that its negatives do not have."""
        kind = point.get("negatives")
        idle = {"none": ("count", "run"), "random": ("run",)}.get(kind or "", ())
        return {key: value for key, value in point.items() if key not in idle}

    def settings_of(self, point: Mapping[str, str]) -> dict[str, Any]:
        """Returns all settings of a combination."""
        if "negatives" not in point:
            return {**self.fixed, **point}
        used = self._applying({**self.fixed, "negatives": point["negatives"]})
        return {**used, **point}

    def named(self, point: Mapping[str, str]) -> Recipe:
        """Returns the recipe with a combination's settings, without held-out queries."""
        return find_recipe(self.recipe, self.settings_of(point))

    def measure(self) -> str:
        """Returns the measure that selects the settings."""
        named = self.by or self.named(self.configurations()[0]).stages[-1].measure or "RR"
        return next(iter(parse_measures([named])))

    def chosen_seeds(self) -> list[int]:
        """Returns the seeds; the recipe's own if none is given.

        Raises:
            InputError: there is none, or one is given twice.
        """
        seeds = self.seeds
        if seeds is None:
            return [self.named(self.configurations()[0]).seed]
        if not seeds or len(set(seeds)) < len(seeds):
            raise InputError(f"seeds {','.join(map(str, seeds))} are not different numbers")
        return list(seeds)

    def about(self) -> dict[str, Any]:
        """Returns what identifies a search; the data and the grid are not part of it."""
        return {
            "recipe": self.recipe,
            "settings": {key: str(value) for key, value in self.fixed.items()},
            "by": self.measure(),
            "seed of the search": self.chosen_seeds()[0],
        }

    def tried(self, point: Mapping[str, str]) -> Recipe:
        """Returns the recipe to try a combination: a part of the training queries is held out."""
        recipe, seed = self.named(point), self.chosen_seeds()[0]
        last = recipe.stages[-1]
        share = last.held_out or SHARE
        rows = (last.source, last.dataset, last.file)
        stages = [
            replace(
                _alone(stage),
                held_out=share if (stage.source, stage.dataset, stage.file) == rows else 0.0,
            )
            for stage in recipe.stages
        ]
        stages[-1] = replace(stages[-1], measure=self.measure(), every=_AT_THE_END, ways=last.ways)
        return replace(recipe, stages=tuple(stages), seed=seed)

    def final(self, point: Mapping[str, str], seed: int) -> Recipe:
        """Returns the recipe that is trained on everything."""
        recipe = self.named(point)
        return replace(recipe, stages=tuple(map(_alone, recipe.stages)), seed=seed)


def _alone(stage: Stage) -> Stage:
    """Returns a stage without held-out data or evaluation during training."""
    return replace(
        stage, held_out=0.0, evaluate="", measure=None, every=None, patience=None, ways=None
    )

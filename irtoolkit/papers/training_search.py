"""Choosing the settings of a training on a held-out part of the training queries."""

from __future__ import annotations

import itertools
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.ids import Ids
from irtoolkit.base.search_logs import alone
from irtoolkit.measures.traits import traits
from irtoolkit.papers.search_log import SearchLog, TriedSettings
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.training.job import DivergedError
from irtoolkit.training.model_checks import check_recipe
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.recipes import Recipe, Stage
from irtoolkit.training.trainer import TrainedModel, prepare, train

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
_log = logging.getLogger(__name__)


class Trains(Protocol):
    """A function that trains a recipe's model into a folder, as `training.trainer.train`."""

    def __call__(self, recipe: Recipe, out: Path) -> TrainedModel: ...


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


@dataclass(frozen=True)
class FoundSettings:
    """The result of a search.

    Attributes:
        measure: name of the measure that selected the settings.
        tried: the settings in the order of the grid, with their figures.
        best: the first of the best settings.
        models: folder of the model of each seed, trained on everything.
    """

    measure: str
    tried: list[TriedSettings]
    best: TriedSettings
    models: list[Path]


def search_training(
    search: TrainingSearch,
    out: StrPath,
    log: StrPath | None = None,
    train: Trains = train,
    restart: bool = False,
) -> FoundSettings:
    """Trains with each combination of a grid, and then on everything with the best one.

    Each combination is trained on the same part of the training queries and measured on the others,
    which rank their own candidates. Nothing is measured on another split, and no model is chosen
    during a training: the last one counts. Of equal figures the first in the grid's order wins. A
    training that diverges is logged as failed, and the search goes on.

    Args:
        search: the recipe and the grid.
        out: folder of the model; with several seeds it has a folder for each, as `seed-0`.
        log: JSON file with every combination and its figure. A search that was interrupted resumes
            with it; by default it is beside `out`, with the ending .tried.json.
        train: trains a model.
        restart: whether to begin the log anew.

    Raises:
        InputError: a setting is not valid; the log is of another search, or another process writes
            it; a training cannot be done; or every training diverges.
    """
    folder = Path(out).expanduser().absolute()
    log = folder.with_name(f"{folder.name}.tried.json") if log is None else log
    points, seeds = search.configurations(), search.chosen_seeds()
    # A value that no training takes is refused now, not after hours.
    recipes = [search.tried(point) for point in points]
    for recipe in (*recipes, *(search.final(points[0], seed) for seed in seeds)):
        check_recipe(recipe)
    with alone(log):
        search_log = SearchLog(log, search.about(), restart)
        work = folder.with_name(f"{folder.name}.search")
        tried = [
            _try(recipe, point, search_log, work, train)
            for recipe, point in zip(recipes, points, strict=True)
        ]
        shutil.rmtree(work, ignore_errors=True)
        best = _best(tried, search.measure())
        models = []
        for seed in seeds:
            model_folder = folder if len(seeds) == 1 else folder / f"seed-{seed}"
            models.append(train(search.final(best.settings, seed), model_folder).folder)
            search_log.finish(tried, best, dict(zip(seeds, models, strict=False)))
    return FoundSettings(search.measure(), tried, best, models)


def _try(
    recipe: Recipe, point: dict[str, str], log: SearchLog, work: Path, train: Trains
) -> TriedSettings:
    """Returns the figure of a combination, from the log or of a training."""
    data, plan = prepare(recipe)
    validation = data[-1].validation
    assert validation is not None
    names = validation.qrels.query_ids
    for stage_data in data[:-1]:
        _check_not_shared(stage_data.stage, recipe.stages[-1], stage_data.rows.query_ids, names)
    key = sha256(json.dumps(plan, sort_keys=True, default=str).encode()).hexdigest()[:32]
    if (previous := log.find(key)) is not None:
        return replace(previous, settings=point)
    rows, point_text = sum(len(stage_data.rows) for stage_data in data), _shown(point)
    try:
        stages = train(recipe, work / key).record["stages"]
    except DivergedError as error:
        result = TriedSettings(point, None, rows, len(names), 0, 0.0, str(error))
        _log.warning("%s: failed: %s", point_text, error)
    else:
        result = TriedSettings(
            point,
            stages[-1]["evaluations"][-1]["figures"][validation.measure],
            rows,
            len(names),
            sum(stage["steps"] for stage in stages),
            sum(stage["seconds"] for stage in stages),
        )
        _log.info("%s: %s %.4f", point_text, validation.measure, result.figure)
    log.add(key, result)
    shutil.rmtree(work / key, ignore_errors=True)
    return result


def _best(tried: Sequence[TriedSettings], measure: str) -> TriedSettings:
    """Returns the first of the best settings."""
    sign = 1 if traits(measure).lower_is_better else -1
    figures = [
        (sign * result.figure, i) for i, result in enumerate(tried) if result.figure is not None
    ]
    if not figures:
        raise InputError(
            f"each of the {len(tried)} trainings of the grid failed; {_shown(tried[0].settings)}:"
            f" {tried[0].failed}",
            remedy="lower rates",
        )
    return tried[min(figures)[1]]


def _shown(point: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in point.items())


def _alone(stage: Stage) -> Stage:
    """Returns a stage without held-out data or evaluation during training."""
    return replace(
        stage, held_out=0.0, evaluate="", measure=None, every=None, patience=None, ways=None
    )


def _check_not_shared(stage: Stage, last: Stage, queries: Ids, held_out_queries: Ids) -> None:
    """Raises InputError if an earlier stage trains on held-out queries of the last stage."""
    if (stage.source, last.source) != ("dataset", "dataset"):
        return
    if stage.dataset.partition("/")[0] != last.dataset.partition("/")[0]:
        return
    shared = np.intersect1d(queries.astype(str), held_out_queries.astype(str))
    if len(shared):
        raise InputError(
            f"an earlier stage trains on {stage.dataset}, which has {len(shared)} of the held-out"
            f" queries of {last.dataset}, such as {shared[0]}",
            remedy="train both stages on the same dataset, or name these queries with 1.without=FILE",
        )

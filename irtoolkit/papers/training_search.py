"""Choosing the settings of a training on a held-out part of the training queries."""

from __future__ import annotations

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
from irtoolkit.base.search_logs import LogKind, alone, write_log
from irtoolkit.measures.traits import traits
from irtoolkit.papers.training_grid import TrainingSearch, TriedSettings
from irtoolkit.training.job import DivergedError
from irtoolkit.training.model_checks import check_recipe
from irtoolkit.training.recipes import Recipe, Stage
from irtoolkit.training.trainer import TrainedModel, prepare, train

_LOG = LogKind("a training search", "tried", "the log of another training search")
_log = logging.getLogger(__name__)


class Trains(Protocol):
    """A function that trains a recipe's model into a folder, as `training.trainer.train`."""

    def __call__(self, recipe: Recipe, out: Path) -> TrainedModel: ...


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
        logged = {} if restart else _logged(log, search.about())
        work = folder.with_name(f"{folder.name}.search")
        tried: list[TriedSettings] = []
        for recipe, point in zip(recipes, points, strict=True):
            tried.append(_try(recipe, point, logged, work, train))
            write_log(log, search.about(), _rows(logged))
            # Not before the log has its figure: an interrupted search trains nothing twice.
            for key in logged:
                shutil.rmtree(work / key, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)
        best = _best(tried, search.measure())
        models: list[Path] = []
        for seed in seeds:
            model_folder = folder if len(seeds) == 1 else folder / f"seed-{seed}"
            models.append(train(search.final(best.settings, seed), model_folder).folder)
            chosen = _chosen(tried, best, dict(zip(seeds, models, strict=False)))
            write_log(log, search.about(), {**_rows(logged), **chosen})
    return FoundSettings(search.measure(), tried, best, models)


def _logged(log: StrPath, about: Mapping[str, Any]) -> dict[str, TriedSettings]:
    """Returns the results in the log of a search, by what was trained on what."""
    content = _LOG.read(log)
    try:
        logged = {row.pop("plan"): TriedSettings(**row) for row in content.get("tried", ())}
    except (AttributeError, KeyError, TypeError):
        raise _LOG.refused(log) from None
    _LOG.check_same_search(log, content, about)
    return logged


def _rows(logged: Mapping[str, TriedSettings]) -> dict[str, Any]:
    """Returns the rows of a log."""
    return {"tried": [{"plan": key, **vars(result)} for key, result in logged.items()]}


def _chosen(
    tried: Sequence[TriedSettings], best: TriedSettings, models: Mapping[int, Path]
) -> dict[str, Any]:
    """Returns what a log says of the settings that were chosen, and of the models of each seed."""
    return {
        "best": best.settings,
        "tried in this grid": [result.settings for result in tried],
        "models": [{"seed": seed, "folder": str(folder)} for seed, folder in models.items()],
    }


def _try(
    recipe: Recipe,
    point: dict[str, str],
    logged: dict[str, TriedSettings],
    work: Path,
    train: Trains,
) -> TriedSettings:
    """Returns the figure of a combination: a logged one, or that of a training, which it adds."""
    data, plan = prepare(recipe)
    validation = data[-1].validation
    assert validation is not None
    names = validation.qrels.query_ids
    for stage_data in data[:-1]:
        _check_not_shared(stage_data.stage, recipe.stages[-1], stage_data.rows.query_ids, names)
    key = sha256(json.dumps(plan, sort_keys=True, default=str).encode()).hexdigest()[:32]
    if key in logged:
        return replace(logged[key], settings=point)
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
    logged[key] = result
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

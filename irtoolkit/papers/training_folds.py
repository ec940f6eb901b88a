"""Out-of-fold runs: each training query is ranked by a model that was not trained on it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, check_writable
from irtoolkit.base.paths import is_url
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.training_search import Trains
from irtoolkit.ranking.candidates import usual_depth
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.retrievers.engine import rank
from irtoolkit.runs import Run
from irtoolkit.runs.parts import joined
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import check_run_name
from irtoolkit.scoring.folds import Fold, folds_of
from irtoolkit.training.model_checks import check_recipe
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.sources.files import read_ids
from irtoolkit.training.trainer import train
from irtoolkit.version import __version__

# Sources whose rows are of no query of a dataset.
_OF_TEXTS = ("examples", "surroundings")


@dataclass(frozen=True)
class FoldedTraining:
    """Models of which each has not seen a fold of the training queries.

    Attributes:
        run: the training queries, each ranked by the model that has not seen it.
        folds: their ids.
        models: folder of the model of each fold.
    """

    run: Run
    folds: tuple[Fold, ...]
    models: tuple[Path, ...]


def train_folds(
    recipe: Recipe,
    out: StrPath,
    output: StrPath,
    *,
    folds: int | None = None,
    seed: int = 0,
    depth: int | None = None,
    train: Trains = train,
) -> FoldedTraining:
    """Trains a model for each fold of the training queries without it, and ranks the fold with it.

    A model ranks the queries that it was trained on far better than others, so its run of them says
    nothing about its quality, and misleads whatever is chosen or learned from it: the weight of a
    fusion, the trees of LambdaMART. The run of this function does not (cross-fitting; the level-one
    data of stacked generalisation, Wolpert 1992). The folds are those of `irtoolkit tune`.

    An interrupted call resumes with the models that exist.

    Args:
        recipe: its last stage trains on the judged queries of a dataset.
        out: folder of the models, as `fold-1`.
        output: file of the run.
        folds: how many, of queries or of whole books where there are several; by default the
            dataset's own, or 5.
        seed: of the random split.
        depth: rows for each query; by default all of a pool, 1,000 of a corpus.
        train: trains a model.

    Raises:
        InputError: a stage whose rows may be of held-out queries, too few queries, or an error of
            training or ranking.
    """
    _check(recipe, output)
    started = time.monotonic()
    dataset = Dataset.load(recipe.stages[-1].dataset)
    depth = usual_depth(dataset, depth)
    dealt = folds_of(dataset, folds, seed)
    folder = Path(out).expanduser().absolute()
    models, runs = [], []
    for number, fold in enumerate(dealt, 1):
        without = _without(recipe, fold, folder / f"fold-{number}.ids")
        models.append(train(without, folder / f"fold-{number}").folder)
        runs.append(_ranked(dataset, _system(recipe, models[-1], dataset), fold, depth))
    order = _order(dataset, dealt)
    ranks = {query: row for run in runs for query, row in (run.exact_ranks or {}).items()}
    run = replace(joined(runs, recipe.name, order).untied(), exact_ranks=ranks or None)
    record = _record(recipe, dataset, depth, {"folds": len(dealt), "seed": seed})
    publish(run, output, record, time.monotonic() - started)
    return FoldedTraining(run, dealt, tuple(models))


def _order(dataset: Dataset, folds: Sequence[Fold]) -> list[str]:
    """Returns the judged queries of folds in the order of the dataset."""
    ranked = set().union(*folds)
    return [name for name in dataset.qrels.query_ids.tolist() if name in ranked]


def _without(recipe: Recipe, fold: Fold, path: Path) -> Recipe:
    """Returns a recipe whose stages on datasets leave a fold out, which is written to a file."""
    _write_ids(path, sorted({*fold, *_left_already(recipe)}))
    stages = (
        replace(stage, without=str(path)) if stage.source == "dataset" else stage
        for stage in recipe.stages
    )
    return replace(recipe, stages=tuple(stages))


def _record(
    recipe: Recipe, dataset: Dataset, depth: int | None, settings: dict[str, int]
) -> dict[str, Any]:
    """Returns the record of the run."""
    return {
        "dataset": dataset.id,
        "system": recipe.name,
        "retriever": "trained without the fold",
        "settings": settings,
        "recipe": recipe.settings(),
        "depth": depth,
        "version": __version__,
    }


def _check(recipe: Recipe, output: StrPath) -> None:
    """Raises InputError before the work, not after it."""
    _check_held_out(recipe)
    check_recipe(recipe)
    if not is_url(output):
        check_writable(output)
    check_run_name(output)


def _check_held_out(recipe: Recipe) -> None:
    """Raises InputError for a stage that may include the held-out queries."""
    last = recipe.stages[-1]
    if last.source != "dataset":
        raise InputError(
            f"folds of source={last.source}, which has no judged queries",
            remedy="the last stage trains on source=dataset",
        )
    for stage in recipe.stages:
        if stage.source not in ("dataset", *_OF_TEXTS):
            raise InputError(
                f"folds with source={stage.source}: the file may have the queries that are held out",
                remedy="train on source=dataset alone",
            )
        if stage.extra is not None:
            raise InputError(
                f"folds with extra={stage.extra}: it may have the queries that are held out",
                remedy="leave extra out",
            )


def _left_already(recipe: Recipe) -> list[str]:
    """Returns the ids that the recipe itself leaves out."""
    files = {stage.without for stage in recipe.stages if stage.without is not None}
    return [name for file in sorted(files) for name in read_ids(file).tolist()]


def _write_ids(path: Path, ids: list[str]) -> None:
    """Writes the ids that a model is not trained on, unless they are there.

    Raises:
        InputError: the file has other ids, so that the model beside it is of other folds.
    """
    if path.is_file():
        if read_ids(str(path)).tolist() == ids:
            return
        raise InputError(
            "the models in this folder are of other folds",
            file=path,
            remedy="name another folder, or remove this one",
        )
    with atomic_text(path) as file:
        file.writelines(f"{name}\n" for name in ids)


def _system(recipe: Recipe, model: Path, dataset: Dataset) -> System:
    """Returns the system of a trained model, with the views that it was trained on."""
    last = recipe.stages[-1]
    views = {"query": last.query, "doc": last.doc}
    system = find_system(str(model), views, dataset.id, kind=recipe.kind, staged=False)
    check_runnable(system)
    return system


def _ranked(dataset: Dataset, system: System, queries: Collection[str], depth: int | None) -> Run:
    """Returns the ranking of some queries, and the exact ranks of their relevant documents."""
    relevant = {} if depth is None else dataset.relevant()
    chosen = {name: relevant[name] for name in queries if name in relevant}
    task = system.load(dataset).only(queries)
    return rank(task, system.retriever, chosen, depth=depth, ties=system.task.ties)

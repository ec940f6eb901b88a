"""Training of a model by a recipe."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.ids import Ints
from irtoolkit.models import loading, places, presets
from irtoolkit.runs import provenance
from irtoolkit.training.base_model import segment_separator
from irtoolkit.training.card import model_card
from irtoolkit.training.checkpoints import (
    StageFolder,
    TrainingFolder,
    first_difference,
    read_training_record,
    save_atomically,
)
from irtoolkit.training.job import StageData, StageJob, TrainOptions
from irtoolkit.training.lstm import FROM_SCRATCH
from irtoolkit.training.model_checks import check_recipe
from irtoolkit.training.model_paths import RECORD, is_trained
from irtoolkit.training.processes import (
    alone,
    from_first,
    is_first_process,
    noticing_lost_peers,
    process_device,
    remove_left_lock,
    wait_for_all,
    world_size,
)
from irtoolkit.training.recipes import Recipe, Stage
from irtoolkit.training.sets import build_training_set
from irtoolkit.training.sources.extended import is_further
from irtoolkit.training.stages import train_stage
from irtoolkit.training.training_set import TrainingSet
from irtoolkit.training.validation import make_validation

# Settings with a file, what it is, and its form.
_FILES = {
    "sememes": (
        "lexicon of sememes",
        "lines of a word, a tab and its sememes; or a recipe without",
    ),
    "words": ("file of word vectors", "lines of a word and numbers; or leave words out"),
    "about": (
        "file of topics and authors",
        "lines of a quote, its topics and its author; or leave about out",
    ),
}


@dataclass(frozen=True)
class TrainedModel:
    """A trained model on disk.

    Attributes:
        folder: folder of the model.
        record: how it was trained: recipe, data, evaluations, speed, commit and versions.
        reused: whether the model existed already.
    """

    folder: Path
    record: dict[str, Any]
    reused: bool = False


def train(
    recipe: Recipe,
    out: StrPath,
    *,
    device: str | None = None,
    save_every: int = 500,
    restart: bool = False,
    workers: int = 0,
    tensorboard: str | None = None,
) -> TrainedModel:
    """Trains a model by a recipe.

    An interrupted training resumes from its last checkpoint and ends with the same weights. The
    folder of the model appears when training is complete. Processes that torchrun, srun or mpirun
    starts share each batch, and the loss is that of one process with the whole batch.

    Args:
        recipe: the model and its training.
        out: folder of the model.
        device: torch device; by default a GPU if there is one.
        save_every: number of steps between checkpoints, which are also made at each evaluation.
        restart: whether to delete the checkpoints and the model that exist.
        workers: number of processes that prepare batches; 0 prepares them in this process.
        tensorboard: folder for TensorBoard's event files; None writes none.

    Raises:
        InputError: the recipe does not fit the data or the model; the folder has a model or
            checkpoints of another training, or another one is writing it; the loss is not finite;
            memory does not suffice; or another process of this training has ended.
    """
    options = TrainOptions(process_device(device), save_every, restart, workers, tensorboard)
    folder = Path(out).expanduser().absolute()
    _check(recipe, options, folder)
    wait_for_all(options.device)
    work = TrainingFolder(folder.with_name(f"{folder.name}.training"))
    complete = from_first(is_trained(folder) and not restart and not work.restarted())
    # Of a model that is complete nothing is written; perhaps nothing can be.
    if complete:
        remove_left_lock(folder)
    with nullcontext() if complete else alone(folder), noticing_lost_peers():
        return _trained(recipe, folder, work, options)


def _trained(
    recipe: Recipe, folder: Path, work: TrainingFolder, options: TrainOptions
) -> TrainedModel:
    """Returns the model of a training, which exists or is trained now."""
    data, plan = prepare(recipe)
    if not options.restart and not work.restarted():
        existing = _existing(folder, plan)
        if existing is not None:
            return existing
    _check_model_folder(folder)
    if is_first_process():
        # These are not part of the model's record, but a resumed training must have the same.
        precision = loading.chosen_precision(recipe.precision, options.device)
        work.claim({**plan, "processes": world_size(), "precision": precision}, options.restart)
    wait_for_all(options.device)
    started = time.monotonic()
    stages = _train_stages(recipe, data, work, options)
    circumstances = provenance.circumstances(time.monotonic() - started)
    record = {
        "plan": plan,
        **work.before(),
        "stages": [stage.record() for stage in stages],
        **circumstances,
    }
    wait_for_all(options.device)  # until all have read what the first process removes
    if is_first_process():
        _deliver(recipe, record, stages[-1].model, folder)
        work.remove()
    wait_for_all(options.device)
    return TrainedModel(folder, record)


def _train_stages(
    recipe: Recipe, data: list[StageData], work: TrainingFolder, options: TrainOptions
) -> list[StageFolder]:
    """Trains the stages that are not complete, one after the other; returns their folders."""
    folders: list[StageFolder] = []
    for number, stage_data in enumerate(data, 1):
        previous = folders[-1].model if folders else None
        folders.append(work.stage(number))
        if folders[-1].record() is None:
            label = f"stage {number} of {len(data)}"
            texts = (
                text
                for data_of_stage in data
                for text in chain(data_of_stage.rows.queries, data_of_stage.rows.docs)
            )
            train_stage(StageJob(recipe, stage_data, folders[-1], previous, options, label, texts))
            wait_for_all(options.device)
    return folders


def _check(recipe: Recipe, options: TrainOptions, folder: Path) -> None:
    """Raises InputError for settings with which training cannot begin, before any data are read."""
    if not all(map(find_spec, ("sentence_transformers", "accelerate", "datasets"))):
        raise needs_extra("sentence-transformers[train]", "train")
    check_recipe(recipe)
    for key, value, least in (
        ("save_every", options.save_every, 1),
        ("workers", options.workers, 0),
    ):
        if value < least:
            raise InputError(f"{key}={value} is not at least {least}")
    if folder.is_file():
        raise InputError(f"{folder} is a file", remedy="name a folder with -o")
    for key, (description, lines) in _FILES.items():
        file = getattr(recipe, key)
        if file is not None and not Path(file).is_file():
            raise InputError(
                f"there is no {description} {file}", remedy=f"--set {key}=FILE, {lines}"
            )


def _existing(folder: Path, plan: dict[str, Any]) -> TrainedModel | None:
    """Returns the model that exists already, or None. It must be of the same training."""
    if not is_trained(folder):
        return None
    record = read_training_record(folder / RECORD)
    difference = first_difference(record["plan"], plan)
    if difference is not None:
        raise InputError(
            f"{folder} has a model of another training: {difference}",
            remedy="name another folder with -o, or train again with --restart",
        )
    return TrainedModel(folder, record, reused=True)


def _check_model_folder(folder: Path) -> None:
    """Raises InputError for a folder with files that are not a trained model."""
    if folder.exists() and not is_trained(folder) and any(folder.iterdir()):
        raise InputError(
            f"{folder} exists and was not made by training", remedy="name another folder with -o"
        )


def prepare(recipe: Recipe) -> tuple[list[StageData], dict[str, Any]]:
    """Returns the data of each stage of a recipe, and everything that decides the weights, as JSON.

    Raises:
        InputError: the recipe does not fit the data, or its base model is missing.
    """
    join = segment_separator(recipe)
    data = [_stage_data(recipe, stage, join) for stage in recipe.stages]
    return data, _plan(recipe, data)


def _stage_data(recipe: Recipe, stage: Stage, join: str) -> StageData:
    rows = build_training_set(stage, join, bool(recipe.trust_remote_code))
    held_out = None
    if stage.held_out:
        rows_kept, out = split_rows(rows, stage, recipe.seed)
        rows, held_out = rows.select(rows_kept), rows.select(out)
    return StageData(stage, rows, make_validation(stage, held_out, join))


def split_rows(rows: TrainingSet, stage: Stage, seed: int) -> tuple[Ints, Ints]:
    """Returns the rows to train on and the rows held out.

    Whole groups are held out if batches are grouped, otherwise whole queries. Rows of further
    datasets (`extra`) are not held out, and trained on only if their query is not held out.

    Raises:
        InputError: one of the two parts is empty.
    """
    owner = rows.groups if stage.grouped else np.unique(rows.query_ids, return_inverse=True)[1]
    extra = is_further(stage, rows.query_ids)
    owners = np.unique(owner[~extra])
    count = round(len(owners) * stage.held_out)
    if not 0 < count < len(owners):
        raise InputError(
            f"held_out={stage.held_out} of {len(owners)} {'groups' if stage.grouped else 'queries'}"
            f" of {rows.what} leaves one part empty",
            remedy="give a share that leaves rows in both parts",
        )
    chosen = np.random.default_rng(seed).choice(owners, count, replace=False)
    out = np.isin(owner, chosen) & ~extra
    held_out = np.flatnonzero(out).tolist() if extra.any() else []
    queries = {rows.queries[row] for row in held_out}
    again = [row for row in np.flatnonzero(extra).tolist() if rows.queries[row] in queries]
    mask = ~out
    mask[again] = False
    return np.flatnonzero(mask), np.flatnonzero(out)


def _plan(recipe: Recipe, data: list[StageData]) -> dict[str, Any]:
    """Returns everything that decides the weights, as JSON."""
    starts = {
        name: presets.weights_hash(presets.find_preset(name))
        for name in (recipe.start, recipe.query_start)
        if name is not None and name not in FROM_SCRATCH
    }
    settings = recipe.settings()
    settings["stages"] = [dict(stage) for stage in settings["stages"]]
    for file in (recipe.words, recipe.about):
        if file is not None:
            starts[file] = sha256(file)
    lexicon = None if recipe.sememes is None else sha256(recipe.sememes)
    tests = [
        None if (test := stage_data.validation) is None else test.fingerprint()
        for stage_data in data
    ]
    return {
        "recipe": recipe.name,
        "settings": settings,
        "data": [stage_data.rows.fingerprint for stage_data in data],
        "tests": tests,
        "start": starts,
        "sememes": lexicon,
    }


def _deliver(recipe: Recipe, record: dict[str, Any], model: Path, folder: Path) -> None:
    """Copies the model to its folder, with its card and its record."""

    def save(partial: str) -> None:
        shutil.copytree(model, partial)
        text = model_card(recipe, record, own_code=loading.has_our_modules(partial))
        (Path(partial) / "README.md").write_text(text, "utf-8")
        sums = {places.WEIGHTS: places.weight_sums(Path(partial))}
        (Path(partial) / RECORD).write_text(
            json.dumps({**record, **sums}, indent=1) + "\n", "utf-8"
        )

    save_atomically(save, folder)

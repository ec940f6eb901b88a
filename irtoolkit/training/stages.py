"""Training of one stage, from its start or its last checkpoint to its end."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading
from irtoolkit.training.base_model import build_model
from irtoolkit.training.checkpoints import model_saver, save_atomically
from irtoolkit.training.job import StageJob
from irtoolkit.training.losses import LOSSES
from irtoolkit.training.lstm import FROM_SCRATCH, KNOWING
from irtoolkit.training.processes import from_first, is_first_process
from irtoolkit.training.trained_model import TrainedForm

if TYPE_CHECKING:
    from irtoolkit.training.query_map import Form


def train_stage(job: StageJob) -> None:
    """Trains a stage, and writes its model and its record into its folder.

    Raises:
        InputError: memory does not suffice, the loss or the measure is not a finite number, or a
            checkpoint is damaged.
    """
    with _quiet():
        _train(job)


def _train(job: StageJob) -> None:
    import torch

    from irtoolkit.training.monitor import TrainingMonitor
    from irtoolkit.training.st_trainer import make_trainer

    # Seeded before anything random is created: a head, sememes, a projection.
    torch.manual_seed(job.recipe.seed)
    with _explain_start(job):
        form = _form(job)
    monitor = TrainingMonitor(job)
    with _explain_memory(job):
        trainer = make_trainer(job, form, monitor)
        last = job.folder.last_checkpoint() if is_first_process() else None
        checkpoint = from_first(None if last is None else str(last))
        steps = 0
        if checkpoint is not None:
            monitor.restore(job.folder.state(Path(checkpoint)))
            steps = int(checkpoint.rpartition("-")[2])
        if checkpoint is not None and (monitor.exhausted() or steps >= monitor.total_steps()):
            # Training was interrupted after its last step.
            trainer._load_from_checkpoint(checkpoint)
        else:
            trainer.train(resume_from_checkpoint=checkpoint)
            steps = trainer.state.global_step
    model = form.saved()
    if is_first_process():
        _finish(job, model, monitor, steps)


def _form(job: StageJob) -> Form:
    """Returns the model as it is held in training."""
    if job.recipe.query_map:
        from irtoolkit.training.query_map import MappedForm

        return MappedForm(job.recipe, job.options.device, (job.rows.queries, job.rows.docs))
    frozen = job.stage.frozen == "documents"
    return TrainedForm(_initial_model(job), job.recipe, job.options.device, frozen)


def _initial_model(job: StageJob) -> Any:
    """Returns the model that the stage starts from."""
    recipe, device = job.recipe, job.options.device
    if job.previous is None:
        docs = job.doc_texts() if recipe.start in KNOWING else ()
        return build_model(recipe, recipe.seed, device, job.texts, docs)
    trusted = bool(recipe.trust_remote_code)
    return loading.open_model(recipe.kind, str(job.previous), trusted, device=device)


def _finish(job: StageJob, model: Any, monitor: Any, steps: int) -> None:
    """Keeps the best model, and writes the record of the stage."""
    best = monitor.best()
    if best is None or best["step"] == steps:
        save_atomically(model_saver(model), job.folder.model)
    else:
        folder = job.folder.best(best["step"])
        if not folder.is_dir():
            raise InputError(
                f"{folder}, the best model, of step {best['step']}, is missing",
                remedy="start again with --restart",
            )
        save_atomically(partial(shutil.copytree, folder), job.folder.model)
    job.folder.finish(
        {
            "data": job.rows.what,
            "rows": len(job.rows),
            "steps": steps,
            "best": best,
            "evaluations": monitor.evaluations,
            "losses": monitor.losses,
            "seconds": round(monitor.seconds(), 1),
            "rows per second": monitor.rows_per_second(),
            "peak memory MiB": monitor.peak_memory(),
        }
    )


@contextmanager
def _explain_memory(job: StageJob) -> Iterator[None]:
    """Turns out-of-memory errors of libraries into an InputError that names the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not _lacks_memory(error):
            raise
        size = job.stage.chunk or job.stage.batch
        ways = [
            f"chunk={max(1, size // 2)}, which holds fewer rows at once and changes no gradient"
            if job.recipe.kind in LOSSES[job.stage.loss].cached
            else f"batch={max(1, size // 2)}",
            "query_length and doc_length",
            "checkpointing=true",
            "precision=bf16 on a GPU",
        ]
        raise InputError(
            f"memory does not suffice for {size} rows at once",
            remedy=f"lower it: {'; '.join(ways)}",
        ) from None


@contextmanager
def _explain_start(job: StageJob) -> Iterator[None]:
    """Turns an out-of-memory error before the model exists into an InputError with the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not _lacks_memory(error):
            raise
        recipe = job.recipe
        raise InputError(
            f"memory does not suffice for the model that training starts from, start={recipe.start}",
            remedy="a lower width" if recipe.start in FROM_SCRATCH else "a smaller start",
        ) from None


def _lacks_memory(error: Exception) -> bool:
    import torch

    out_of_memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return out_of_memory or "allocate memory" in str(error)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides transformers' progress bars for saved files, and the libraries' warnings."""
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            # sentence-transformers calls it by its old name.
            warnings.filterwarnings("ignore", message=r"torch\.distributed\.nn\.functional\.all_g")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if not os.environ.get("HF_HUB_DISABLE_PROGRESS_BARS"):
            logging.enable_progress_bar()

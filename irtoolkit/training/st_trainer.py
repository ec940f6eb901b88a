"""sentence-transformers' trainers with irtoolkit's batches, evaluation and checkpoints."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from dataclasses import fields
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from typing import Any

import sentence_transformers
import torch
from torch.utils.data import DataLoader
from transformers import TrainingArguments
from transformers.trainer import SCHEDULER_NAME
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from irtoolkit.base.errors import InputError
from irtoolkit.base.threads import prepared
from irtoolkit.models.limits import own_prompt
from irtoolkit.models.loading import chosen_precision
from irtoolkit.models.presets import SAVED_AS, Kind
from irtoolkit.training.checkpoints import model_saver
from irtoolkit.training.collating import ROWS, Collator
from irtoolkit.training.gpu_batches import Awaited, FastReading, sent
from irtoolkit.training.job import DivergedError, StageJob
from irtoolkit.training.losses import LOSSES, make_loss
from irtoolkit.training.monitor import TrainingMonitor
from irtoolkit.training.processes import (
    ProcessRank,
    average_gradients,
    is_first_process,
    world_size,
)
from irtoolkit.training.query_map import Form
from irtoolkit.training.sampling import BatchSampler, check_contrast
from irtoolkit.training.sharding import load_moments, save_shards

_log = logging.getLogger(__name__)


class _RowNumbers:
    """A training set as torch reads it: an item is a row's number, which the collator looks up."""

    column_names = ("row",)

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> dict[str, int]:
        return {"row": int(row)}


class _Loader(DataLoader[Any]):
    """A data loader that passes the epoch to its batch sampler.

    Attributes:
        reading: reads texts with tokenizers of its own, so that batches can be prepared in another
            thread; None prepares them when they are needed.
    """

    reading: FastReading | None = None

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        batches: Iterator[Any] = super().__iter__()
        yield from islice(batches, 1)
        alone = self.reading is not None and self.reading.is_complete
        yield from prepared(batches) if alone else batches

    def set_epoch(self, epoch: int) -> None:
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]


class _OwnBatches:
    """Mixin of sentence-transformers' trainers: batches of a BatchSampler, our own checkpoints."""

    # Attributes of the trainer that it is mixed into.
    model: Any
    args: Any
    state: Any
    accelerator: Any
    optimizer: Any
    lr_scheduler: Any
    data_collator: Any
    train_dataset: Any
    # Set where texts are read for a GPU.
    reading: FastReading | None = None

    def __init__(
        self,
        job: StageJob,
        form: Form,
        batches: BatchSampler,
        monitor: TrainingMonitor,
        **kwargs: Any,
    ) -> None:
        self._job, self.form, self._batches, self._monitor = job, form, batches, monitor
        super().__init__(**kwargs)
        # torch's wrapper for several processes allows one call of the model in a step; here there
        # are two, for queries and for documents. So gradients are averaged in training_step, which
        # benchmarks/gradients.py compares.
        self.accelerator.prepare_model = partial(
            self.accelerator.prepare_model, evaluation_mode=True
        )

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Does nothing: irtoolkit writes its own model card at the end."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # As in the base class, without its model card, which takes longer than a small model.
        folder = output_dir or self.args.output_dir
        if self.form.sharded:
            return  # saved with the optimizer, by all processes
        (self.form.save if self.form.adapted else model_saver(self.model))(folder)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        if self.form.sharded or self.form.adapted:
            self.form.load(checkpoint_path)
        else:
            super()._load_from_checkpoint(checkpoint_path)  # type: ignore[misc]

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if not self.form.sharded:
            super()._save_optimizer_and_scheduler(output_dir)  # type: ignore[misc]
            return
        save_shards(output_dir, self.model, self.optimizer.optimizer)
        if self.args.should_save:
            torch.save(self.lr_scheduler.state_dict(), os.path.join(output_dir, SCHEDULER_NAME))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if not self.form.sharded or checkpoint is None:
            super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]
            return
        load_moments(checkpoint, self.model, self.optimizer.optimizer)
        steps = torch.load(os.path.join(checkpoint, SCHEDULER_NAME), weights_only=True)
        self.lr_scheduler.load_state_dict(steps)

    def get_train_dataloader(self) -> Any:
        # accelerate does not prepare it, because it would cut batches of unequal sizes wrongly.
        loader = _Loader(
            self.train_dataset,
            batch_sampler=self._batches,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        loader.reading = self.reading
        return loader

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        rows = inputs.pop(ROWS)
        self._monitor.count_rows(len(rows) * world_size())
        loss = super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]
        self._computed = rows, Awaited(loss[0] if isinstance(loss, tuple) else loss)
        return loss

    def training_step(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        loss = super().training_step(model, *args, **kwargs)  # type: ignore[misc]
        # Only now, when the GPU has more to do; the weights are not changed yet.
        rows, awaited = self._computed
        if not math.isfinite(value := awaited.value()):
            raise self._not_finite(rows, value)
        average_gradients(model)
        return loss

    def _prepare_input(self, data: Any) -> Any:
        # As in the base class, but nothing waits for what a GPU still computes.
        if self.args.device.type == "cuda":
            return sent(data, self.args.device)
        return super()._prepare_input(data)  # type: ignore[misc]

    def _not_finite(self, rows: list[int], loss: float) -> DivergedError:
        names = "; ".join(self._job.rows.name(row) for row in rows[:3])
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        return DivergedError(
            f"the loss of step {self.state.global_step + 1} is {loss:g}, for the batch {names}{more}",
            remedy="lower rate or scale, or compute with precision=fp32; the last checkpoint is"
            " kept",
        )


@cache
def _trainer_class(kind: Kind) -> Any:
    base = getattr(sentence_transformers, f"{SAVED_AS[kind]}Trainer")
    return type("Trainer", (_OwnBatches, base), {})


def make_trainer(job: StageJob, form: Form, monitor: TrainingMonitor) -> Any:
    """Returns the trainer of a stage.

    Args:
        job: the stage to train.
        form: the model to train.
        monitor: the callback of the trainer, which is attached to it.

    Raises:
        InputError: the rows make no batch for so many processes.
    """
    stage, recipe, model = job.stage, job.recipe, form.model
    loss = LOSSES[stage.loss]
    arguments = _arguments(job)
    batches = _batches(job, loss.shared and stage.apart)
    form.pack(recipe)
    matrix = _documents(job, model) if loss.matrix else None
    loss_module = make_loss(
        model, stage, recipe.kind, matrix, job.doc_texts() if loss.corpus else ()
    )
    trainer = _trainer_class(recipe.kind)(
        job,
        form,
        batches,
        monitor,
        model=model,
        args=arguments,
        train_dataset=_RowNumbers(len(job.rows)),
        loss=loss_module,
        callbacks=[monitor],
    )
    inner = trainer.data_collator
    if recipe.kind != "cross":
        _route_columns(job, model, inner)
    if recipe.kind in ("dense", "sparse") and job.options.device.startswith("cuda"):
        inner.preprocess_fn = trainer.reading = FastReading(model, recipe.kind, inner.preprocess_fn)
    trainer.data_collator = Collator(
        job.rows, stage, loss.layout, recipe.seed, inner, lambda: batches.epoch
    )
    for unwanted in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(unwanted)
    monitor.attach(trainer, len(batches))
    return trainer


def _batches(job: StageJob, apart: bool) -> BatchSampler:
    stage, rows = job.stage, job.rows
    batches = BatchSampler(
        rows,
        stage.batch,
        grouped=stage.grouped,
        apart=apart,
        seed=job.recipe.seed,
        process=ProcessRank.of_environment(),
    )
    if len(batches) == 0:
        raise InputError(
            f"the {len(rows)} rows of {rows.what} make no batch for {world_size()} processes",
            remedy="start fewer processes",
        )
    if batches.left_out and is_first_process():
        _log.warning(
            "%d of the %d rows of %s are never trained on: %d processes cannot share their groups",
            batches.left_out,
            len(rows),
            rows.what,
            world_size(),
        )
    check_contrast(stage, rows, batches)
    return batches


def _route_columns(job: StageJob, model: Any, collator: Any) -> None:
    """Sets the encoder and the prompt of each column of a batch."""
    negatives = job.rows.negatives
    width = job.stage.count if negatives is None else negatives.shape[1]
    columns = ["positive", *(f"negative_{i}" for i in range(1, width + 1))]
    collator.router_mapping = {"query": "query", **dict.fromkeys(columns, "document")}
    prompts = {"query": own_prompt(model, "query")}
    prompts |= dict.fromkeys(columns, own_prompt(model, "document"))
    collator.prompts = {column: prompt for column, prompt in prompts.items() if prompt}


def _documents(job: StageJob, model: Any) -> Any:
    """Returns (m, d) vectors of all documents of a training set, for a loss over all of them."""
    was = model.training
    model.eval()
    vectors = model.encode_document(job.doc_texts(), convert_to_tensor=True, show_progress_bar=None)
    model.train(was)
    return vectors


def _arguments(job: StageJob) -> Any:
    stage, recipe, options = job.stage, job.recipe, job.options
    precision = chosen_precision(recipe.precision, options.device)
    if options.tensorboard:  # transformers 5 reads it from the environment
        os.environ["TENSORBOARD_LOGGING_DIR"] = options.tensorboard
    cpu = options.device == "cpu"
    if options.device.startswith("cuda"):  # accelerate uses the current device
        torch.cuda.set_device(options.device)
    arguments = getattr(sentence_transformers, f"{SAVED_AS[recipe.kind]}TrainingArguments")(
        output_dir=str(job.folder.folder),
        per_device_train_batch_size=max(1, stage.batch // world_size()),
        num_train_epochs=stage.epochs,
        learning_rate=stage.rate,
        lr_scheduler_type=stage.schedule,
        warmup_steps=stage.warmup,
        weight_decay=stage.decay,
        max_grad_norm=stage.clip,
        optim="adamw_torch_fused",
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        **({_checkpointing(): True} if recipe.checkpointing else {}),
        seed=recipe.seed,
        data_seed=recipe.seed,
        eval_strategy="no",
        save_strategy="steps",
        save_steps=options.save_every,
        # The previous checkpoint is kept until the newest one is complete.
        save_total_limit=2,
        logging_steps=10,
        logging_nan_inf_filter=False,
        report_to="tensorboard" if options.tensorboard and find_spec("tensorboard") else "none",
        disable_tqdm=True,
        dataloader_num_workers=options.workers,
        dataloader_pin_memory=not cpu,
        dataloader_drop_last=world_size() > 1,  # of no effect here, and otherwise warned about
        use_cpu=cpu,
        ddp_backend="gloo" if cpu and world_size() > 1 else None,
        ddp_timeout=24 * 3600,
        router_mapping={"query": "query"},  # completed in _route_columns
    )
    # One process uses one GPU; transformers would spread a batch over all visible ones.
    _ = arguments.device
    arguments._n_gpu = min(1, arguments._n_gpu)
    return arguments


def _checkpointing() -> str:
    """Returns transformers' name of activation checkpointing, which version 6 renames."""
    names = {field.name for field in fields(TrainingArguments)}
    new = "activation_checkpointing"
    return new if new in names else "gradient_checkpointing"

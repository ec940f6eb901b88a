"""sentence-transformers' trainers with our batches, evaluation and checkpoints."""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from dataclasses import fields
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import sentence_transformers
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from irtoolkit.base.errors import InputError
from irtoolkit.measures.traits import traits
from irtoolkit.models.adapters import own_prompt
from irtoolkit.models.loading import dtype_of
from irtoolkit.models.presets import SAVED_AS, Kind
from irtoolkit.training.checkpoints import save_whole, saver
from irtoolkit.training.collating import ROWS, Collator
from irtoolkit.training.losses import LOSSES, make_loss
from irtoolkit.training.processes import agreed, average_gradients, rank, world
from irtoolkit.training.sampling import Batches

if TYPE_CHECKING:
    from irtoolkit.training.trainer import _Run


_log = logging.getLogger(__name__)


class _Numbers:
    """A training set as torch wants it: an item is its row's number; the collator reads the rest."""

    column_names = ("row",)

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> dict[str, int]:
        return {"row": int(row)}


class _Loader(DataLoader[Any]):
    """A loader that tells its batches the epoch."""

    def set_epoch(self, epoch: int) -> None:
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]


@cache
def _trainer_class(kind: Kind) -> Any:
    base = getattr(sentence_transformers, f"{SAVED_AS[kind]}Trainer")

    class Trainer(base):  # type: ignore[misc, valid-type]
        """A trainer of one family with our batches."""

        def __init__(self, run: _Run, batches: Batches, follower: Follower, **kwargs: Any) -> None:
            self._run, self._batches, self._follower = run, batches, follower
            super().__init__(**kwargs)
            # Not wrapped for several processes: torch's wrapper takes one call of the model a step,
            # and here queries and documents are two. Gradients are averaged below.
            self.accelerator.prepare_model = partial(
                self.accelerator.prepare_model, evaluation_mode=True
            )

        def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
            """Our card is written at the end."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            # As the base does, but for its card, which takes longer than a small model's weights.
            saver(self.model)(output_dir or self.args.output_dir)

        def get_train_dataloader(self) -> Any:
            # Not prepared by accelerate, which would cut batches of unequal sizes wrongly.
            return _Loader(
                self.train_dataset,
                batch_sampler=self._batches,
                collate_fn=self.data_collator,
                num_workers=self.args.dataloader_num_workers,
                pin_memory=self.args.dataloader_pin_memory,
            )

        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            rows = inputs.pop(ROWS)
            self._follower.saw(len(rows) * world())
            found = super().compute_loss(model, inputs, *args, **kwargs)
            loss = found[0] if isinstance(found, tuple) else found
            if not bool(torch.isfinite(loss)):
                raise self._not_finite(rows, loss.item())
            return found

        def training_step(self, model: Any, *args: Any, **kwargs: Any) -> Any:
            loss = super().training_step(model, *args, **kwargs)
            average_gradients(model)
            return loss

        def _not_finite(self, rows: list[int], loss: float) -> InputError:
            names = "; ".join(self._run.rows.name(row) for row in rows[:3])
            more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
            return InputError(
                f"the loss of step {self.state.global_step + 1} is {loss:g}, of the batch {names}{more}",
                remedy="lower rate or scale, or compute with precision=fp32; the last checkpoint"
                " is kept",
            )

    return Trainer


def make_trainer(run: _Run, model: Any, follower: Follower) -> Any:
    """The trainer of a stage, with everything it needs."""
    stage, recipe = run.stage, run.recipe
    loss = LOSSES[stage.loss]
    arguments = _arguments(run)
    batches = Batches(
        run.rows, stage.batch, grouped=stage.grouped, apart=loss.apart, seed=recipe.seed,
        rank=rank(), world=world(),
    )  # fmt: skip
    if len(batches) == 0:
        raise InputError(
            f"the {len(run.rows)} rows of {run.rows.what} make no batch for {world()} processes",
            remedy="start fewer processes",
        )
    if batches.left_out and rank() == 0:
        _log.warning(
            "%d of the %d rows of %s are never trained on: %d processes cannot share their groups",
            batches.left_out, len(run.rows), run.rows.what, world(),
        )  # fmt: skip
    made = make_loss(model, stage, recipe.kind, documents=_documents(run, model, loss.matrix))
    trainer = _trainer_class(recipe.kind)(
        run, batches, follower, model=model, args=arguments, train_dataset=_Numbers(len(run.rows)), loss=made,
        callbacks=[follower],
    )  # fmt: skip
    inner = trainer.data_collator
    if recipe.kind != "cross":
        width = stage.count if run.rows.negatives is None else run.rows.negatives.shape[1]
        columns = ["positive", *(f"negative_{i}" for i in range(1, width + 1))]
        inner.router_mapping = {"query": "query", **dict.fromkeys(columns, "document")}
        shown = {"query": own_prompt(model, "query")}
        shown |= dict.fromkeys(columns, own_prompt(model, "document"))
        inner.prompts = {column: prompt for column, prompt in shown.items() if prompt}
    trainer.data_collator = Collator(
        run.rows, stage, loss.layout, recipe.seed, inner, lambda: batches.epoch
    )
    for unwanted in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(unwanted)
    follower.attach(trainer, len(batches))
    return trainer


def _documents(run: _Run, model: Any, wanted: bool) -> Any:
    """(m, d) the vectors of all documents of a training set, for a loss over all of them."""
    if not wanted:
        return None
    texts = [run.rows.docs[i] for i in range(len(run.rows.docs))]
    was = model.training
    model.eval()
    vectors = model.encode_document(texts, convert_to_tensor=True, show_progress_bar=None)
    model.train(was)
    return vectors


def _arguments(run: _Run) -> Any:
    stage, recipe, how = run.stage, run.recipe, run.how
    precision = dtype_of(recipe.precision, run.device)
    if how.tensorboard:  # where transformers 5 looks for it
        os.environ["TENSORBOARD_LOGGING_DIR"] = how.tensorboard
    cpu = run.device == "cpu"
    if run.device.startswith("cuda"):  # accelerate takes the current one
        torch.cuda.set_device(run.device)
    arguments = getattr(sentence_transformers, f"{SAVED_AS[recipe.kind]}TrainingArguments")(
        output_dir=str(run.place.folder),
        per_device_train_batch_size=max(1, stage.batch // world()),
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
        save_steps=how.save_every,
        # The one before the newest stays until the newest is known to be whole.
        save_total_limit=2,
        logging_steps=10,
        logging_nan_inf_filter=False,
        report_to="tensorboard" if how.tensorboard and find_spec("tensorboard") else "none",
        disable_tqdm=True,
        dataloader_num_workers=how.workers,
        dataloader_pin_memory=not cpu,
        use_cpu=cpu,
        ddp_backend="gloo" if cpu and world() > 1 else None,
        ddp_timeout=24 * 3600,
        router_mapping={"query": "query"},  # completed when the columns are known
    )
    # One process uses one GPU; transformers would spread a batch over all it sees.
    _ = arguments.device
    arguments._n_gpu = min(1, arguments._n_gpu)
    return arguments


def _checkpointing() -> str:
    """What transformers calls computing activations again; version 6 has the new name alone."""
    names = {field.name for field in fields(TrainingArguments)}
    new = "activation_checkpointing"
    return new if new in names else "gradient_checkpointing"


class Follower(TrainerCallback):  # type: ignore[misc]
    """Shows progress, measures the model, keeps the best, and stops when none gets better."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self.evaluations: list[dict[str, Any]] = []
        self.losses: list[dict[str, float]] = []
        self._trainer: Any = None
        self._bar: Any = None
        self._started, self._spent, self._seen = 0.0, 0.0, 0

    def attach(self, trainer: Any, steps: int) -> None:
        self._trainer, self._steps = trainer, steps

    # -- what is told ---------------------------------------------------------------------------

    def best(self) -> dict[str, Any] | None:
        """The best evaluation; the first of those that are equal."""
        if self._run.test is None or not self.evaluations:
            return None
        measure = self._run.test.measure
        sign = 1 if traits(measure).lower_is_better else -1
        return min(self.evaluations, key=lambda found: sign * found["figures"][measure])

    def exhausted(self) -> bool:
        """Whether no evaluation has been better for as long as the stage's patience."""
        best, patience = self.best(), self._run.stage.patience
        if best is None or patience is None:
            return False
        return len(self.evaluations) - 1 - self.evaluations.index(best) >= patience

    def total(self) -> int:
        """The steps of the whole stage, unless it is stopped early."""
        return math.ceil(self._run.stage.epochs * self._steps)

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from what a checkpoint was sealed with."""
        self.evaluations, self.losses = state["evaluations"], state["losses"]
        self._spent, self._seen = state["seconds"], state["rows"]

    def _state(self) -> dict[str, Any]:
        return {
            "evaluations": self.evaluations, "losses": self.losses, "seconds": self._spent,
            "rows": self._seen,
        }  # fmt: skip

    def seconds(self) -> float:
        """The time of all steps, that of evaluating and saving left out."""
        return self._spent

    def saw(self, rows: int) -> None:
        """Counts rows as they are trained on."""
        self._seen += rows

    def speed(self) -> float | None:
        """Rows trained on in a second, the time of evaluating and saving left out."""
        return round(self._seen / self._spent, 2) if self._seen and self._spent else None

    def peak(self) -> int:
        """The most memory that was held, of the GPU where there is one."""
        if torch.cuda.is_available() and self._run.device.startswith("cuda"):
            return int(torch.cuda.max_memory_allocated() // 2**20)
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    # -- what the trainer calls -----------------------------------------------------------------

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self._started = time.monotonic()
        self._bar = tqdm(
            total=state.max_steps, initial=state.global_step, unit="batch",
            desc=f"training {self._run.recipe.name}, {self._run.what}",
            disable=None if state.is_world_process_zero else True, file=sys.stderr,
        )  # fmt: skip

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # From one step's end to the next: reading and tokenizing are part of training.
        now = time.monotonic()
        self._spent += now - self._started
        self._started = now
        self._bar.update()
        # Here and not at an epoch's end, so that a step is measured and saved once, in this order.
        every = self._run.stage.every or self._steps
        if state.global_step % every == 0 or state.global_step >= state.max_steps:
            self._measure(state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.losses.append({"step": state.global_step, "loss": round(logs["loss"], 6)})
            speed = self.speed()
            self._bar.set_postfix(
                loss=f"{logs['loss']:.4f}", **({"rows/s": f"{speed:.1f}"} if speed else {})
            )

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._run.place.seal(state.global_step, self._state())
            # Only now is the best before this one not needed to go on.
            best = self.best()
            self._run.place.forget_bests(None if best is None else best["step"])
        self._started = time.monotonic()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._bar.close()

    def _measure(self, state: Any, control: Any) -> None:
        control.should_save = True
        run = self._run
        if run.test is None:
            return
        figures = None
        if state.is_world_process_zero:
            precision = dtype_of(run.recipe.precision, run.device)
            figures = run.test(self._trainer.model, run.recipe.kind, precision)
        figures = agreed(figures)
        found = {"step": state.global_step, "epoch": round(state.epoch, 4), "figures": figures}
        self.evaluations.append(found)
        best = self.best()
        if best is found and state.is_world_process_zero:
            save_whole(saver(self._trainer.model), run.place.best(found["step"]))
        value = figures[run.test.measure]
        if state.is_world_process_zero:
            tqdm.write(
                f"step {state.global_step}: {run.test.measure} {value:.4f}"
                + (", the best so far" if best is found else ""),
                file=sys.stderr,
            )
        if self.exhausted():
            control.should_training_stop = True
        if math.isnan(value):
            raise InputError(f"{run.test.measure} is not a number at step {state.global_step}")

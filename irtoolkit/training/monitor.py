"""Monitoring of a stage in training: progress, evaluation, checkpoints and early stopping."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import torch
from transformers import TrainerCallback

from irtoolkit.base.cores import peak_memory
from irtoolkit.base.progress import tqdm
from irtoolkit.measures.traits import traits
from irtoolkit.models.loading import chosen_precision
from irtoolkit.retrievers.parts import NotFiniteError
from irtoolkit.training.checkpoints import model_saver, save_atomically
from irtoolkit.training.job import DivergedError, StageJob
from irtoolkit.training.processes import from_first


class TrainingMonitor(TrainerCallback):  # type: ignore[misc]
    """Callback that shows progress, evaluates the model, keeps the best one and stops early.

    Attributes:
        evaluations: step, epoch and figures of each evaluation.
        losses: step and loss of each log entry.
    """

    def __init__(self, job: StageJob) -> None:
        self._job = job
        self.evaluations: list[dict[str, Any]] = []
        self.losses: list[dict[str, float]] = []
        self._trainer: Any = None
        self._bar: Any = None
        self._started, self._spent, self._seen = 0.0, 0.0, 0
        # The sum of the losses since the last log entry, and the step of that entry.
        self._unlogged: tuple[float, int] | None = None

    def attach(self, trainer: Any, steps: int) -> None:
        """Connects the monitor with its trainer.

        Args:
            trainer: the trainer.
            steps: number of steps of an epoch.
        """
        self._trainer, self._steps = trainer, steps

    # -- state ----------------------------------------------------------------------------------

    def best(self) -> dict[str, Any] | None:
        """Returns the best evaluation so far, the first of equal ones; None if there is none."""
        if self._job.validation is None or not self.evaluations:
            return None
        measure = self._job.validation.measure
        sign = 1 if traits(measure).lower_is_better else -1
        return min(self.evaluations, key=lambda evaluation: sign * evaluation["figures"][measure])

    def exhausted(self) -> bool:
        """Returns whether the stage's patience is exhausted: no better evaluation for so many."""
        best, patience = self.best(), self._job.stage.patience
        if best is None or patience is None:
            return False
        return len(self.evaluations) - 1 - self.evaluations.index(best) >= patience

    def total_steps(self) -> int:
        """Returns the number of steps of the whole stage, without early stopping."""
        return math.ceil(self._job.stage.epochs * self._steps)

    def restore(self, state: dict[str, Any]) -> None:
        """Resumes from the state that is stored in a checkpoint."""
        self.evaluations, self.losses = state["evaluations"], state["losses"]
        self._spent, self._seen = state["seconds"], state["rows"]
        self._unlogged = state.get("unlogged")  # absent from checkpoints of earlier versions

    def _state(self) -> dict[str, Any]:
        return {
            "evaluations": self.evaluations,
            "losses": self.losses,
            "seconds": self._spent,
            "rows": self._seen,
            "unlogged": self._unlogged,
        }

    def count_rows(self, rows: int) -> None:
        """Counts rows that were trained on."""
        self._seen += rows

    def seconds(self) -> float:
        """Returns the duration of all steps in seconds, without evaluating and saving."""
        return self._spent

    def rows_per_second(self) -> float | None:
        """Rows trained on per second, without evaluating and saving; None before the first step."""
        return round(self._seen / self._spent, 2) if self._seen and self._spent else None

    def peak_memory(self) -> int:
        """Returns the largest memory used so far, in MiB: of the GPU if there is one."""
        if torch.cuda.is_available() and self._job.options.device.startswith("cuda"):
            return int(torch.cuda.max_memory_allocated() // 2**20)
        return peak_memory() >> 20

    # -- callbacks of the trainer ---------------------------------------------------------------

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        if self._unlogged is not None:
            # transformers forgets them where it resumes.
            self._trainer._tr_loss += self._unlogged[0]
            self._trainer._globalstep_last_logged = self._unlogged[1]
        self._started = time.monotonic()
        self._bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            unit="batch",
            desc=f"training {self._job.recipe.name}, {self._job.label}",
            disable=None if state.is_world_process_zero else True,
            file=sys.stderr,
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # A step lasts from the end of the one before, so that it includes reading and tokenizing.
        now = time.monotonic()
        self._spent += now - self._started
        self._started = now
        self._bar.update()
        # Evaluating here, and not at the end of an epoch, keeps one order: evaluate, then save.
        interval = self._job.stage.every or self._steps
        if state.global_step % interval == 0 or state.global_step >= state.max_steps:
            self._evaluate(state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.losses.append({"step": state.global_step, "loss": round(logs["loss"], 6)})
            speed = self.rows_per_second()
            self._bar.set_postfix(
                loss=f"{logs['loss']:.4f}", **({"rows/s": f"{speed:.1f}"} if speed else {})
            )

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        summed = self._trainer.accelerator.gather(self._trainer._tr_loss).mean()
        self._unlogged = float(summed), self._trainer._globalstep_last_logged
        if state.is_world_process_zero:
            self._job.folder.complete(state.global_step, self._state())
            # Until now the previous best model was needed to resume.
            best = self.best()
            self._job.folder.remove_bests(None if best is None else best["step"])
        self._started = time.monotonic()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._bar.close()

    def _evaluate(self, state: Any, control: Any) -> None:
        control.should_save = True
        job = self._job
        if job.validation is None:
            return
        figures, model = None, self._trainer.form.saved()
        if state.is_world_process_zero:
            precision = chosen_precision(job.recipe.precision, job.options.device)
            measured = self._trainer.form.measured(model)
            try:
                figures = job.validation(measured, job.recipe.kind, precision)
            except NotFiniteError as error:
                raise self._diverged(error.found, state.global_step) from None
        figures = from_first(figures)
        entry = {"step": state.global_step, "epoch": round(state.epoch, 4), "figures": figures}
        self.evaluations.append(entry)
        best = self.best()
        if best is entry and state.is_world_process_zero:
            save_atomically(model_saver(model), job.folder.best(entry["step"]))
        value = figures[job.validation.measure]
        if state.is_world_process_zero:
            self._bar.write(
                f"step {state.global_step}: {job.validation.measure} {value:.4f}"
                + (", the best so far" if best is entry else ""),
                file=sys.stderr,
            )
        if self.exhausted():
            control.should_training_stop = True
        if math.isnan(value):
            raise self._diverged(f"{job.validation.measure} is not a number", state.global_step)

    def _diverged(self, problem: str, step: int) -> DivergedError:
        return DivergedError(
            f"step {step}: {problem}", remedy="lower rate or scale, or compute with precision=fp32"
        )

"""The folder of a training in progress: its plan, its checkpoints and its best models so far."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import load_json
from irtoolkit.training.model_paths import comparable

# In the folder of each complete checkpoint.
_COMPLETE = "follower.json"
_PLAN = "plan.json"
_DONE = "stage.json"
# Marks the folder of a training with --restart, whose old model still exists.
_RESTARTED = "restarted"
# What of a plan may be lowered when memory does not suffice, since it changes no gradient but by
# rounding and by the random numbers of dropout; and, in a plan, what it was before.
_HELD, _BEFORE = "chunk", "chunk before"


@dataclass(frozen=True)
class TrainingFolder:
    """The folder of a training in progress.

    Attributes:
        folder: its path, next to the folder of the model, which appears when training is complete.
    """

    folder: Path

    def claim(self, plan: Mapping[str, Any], restart: bool = False) -> None:
        """Creates the folder for a training, or checks that it is of the same training.

        The same may hold fewer rows at once, or more, than when it began.

        Args:
            plan: everything that decides the weights.
            restart: whether to delete the checkpoints first.

        Raises:
            InputError: the checkpoints are of another training; names the first difference.
        """
        if restart:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            (self.folder / _RESTARTED).touch()
        path = self.folder / _PLAN
        # Where a training failed or was killed before its first checkpoint, there is nothing to keep.
        begun = any(entry.is_dir() and any(entry.iterdir()) for entry in self.folder.glob("*"))
        before: list[Any] = []
        if begun and path.is_file():
            old = read_training_record(path)
            before = old.pop(_BEFORE, [])
            difference = first_difference(_without_held(old), _without_held(plan))
            if difference is not None:
                raise InputError(
                    f"the checkpoints in {self.folder} are of another training: {difference}",
                    remedy="name another folder with -o, or start again with --restart",
                )
            if first_difference(old, plan) is None:
                return
            before = [*before, [stage.get(_HELD) for stage in old["settings"]["stages"]]]
        with atomic_text(path) as out:
            json.dump({**comparable(plan), **({_BEFORE: before} if before else {})}, out, indent=1)

    def before(self) -> dict[str, Any]:
        """Returns, for the record, the `chunk` of each stage in earlier legs that had another."""
        plan = read_training_record(self.folder / _PLAN)
        return {_BEFORE: plan[_BEFORE]} if _BEFORE in plan else {}

    def restarted(self) -> bool:
        """Returns whether a training with --restart was interrupted here."""
        return (self.folder / _RESTARTED).is_file()

    def stage(self, number: int) -> StageFolder:
        """Returns the folder of one stage, numbered from 1."""
        return StageFolder(self.folder / f"stage-{number}")

    def remove(self) -> None:
        """Deletes the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class StageFolder:
    """The folder of one stage: its checkpoints, its best models so far, and at last its model.

    Attributes:
        folder: its path.
    """

    folder: Path

    @property
    def model(self) -> Path:
        """The folder of the stage's model, which exists when the stage is complete."""
        return self.folder / "model"

    def best(self, step: int) -> Path:
        """Returns the folder of the model at a step whose evaluation was the best so far."""
        return self.folder / f"best-{step}"

    def remove_bests(self, keep: int | None = None) -> None:
        """Deletes the best models so far, except that of step `keep`."""
        for path in self.folder.glob("best-*"):
            if keep is None or path != self.best(keep):
                shutil.rmtree(path, ignore_errors=True)

    def record(self) -> dict[str, Any] | None:
        """Returns the record of the stage, or None while it is not complete."""
        path = self.folder / _DONE
        return read_training_record(path) if path.is_file() else None

    def finish(self, record: Mapping[str, Any]) -> None:
        """Writes the record of the complete stage, and deletes its checkpoints."""
        with atomic_text(self.folder / _DONE) as out:
            json.dump(record, out, indent=1)
        for path in self._checkpoints():
            shutil.rmtree(path, ignore_errors=True)
        self.remove_bests()

    def last_checkpoint(self) -> Path | None:
        """Returns the newest complete checkpoint; incomplete ones are deleted."""
        latest = None
        for path in self._checkpoints():
            if (path / _COMPLETE).is_file():
                latest = path
            else:
                shutil.rmtree(path, ignore_errors=True)
        return latest

    def checkpoint(self, step: int) -> Path:
        """Returns the folder of the checkpoint at a step."""
        return self.folder / f"checkpoint-{step}"

    def complete(self, step: int, state: Mapping[str, Any]) -> None:
        """Marks a checkpoint as complete, and stores the monitor's state in it."""
        with atomic_text(self.checkpoint(step) / _COMPLETE) as out:
            json.dump(state, out, indent=1)

    @staticmethod
    def state(checkpoint: Path) -> dict[str, Any]:
        """Returns the monitor's state at a complete checkpoint."""
        return read_training_record(checkpoint / _COMPLETE)

    def _checkpoints(self) -> list[Path]:
        folders = [p for p in self.folder.glob("checkpoint-*") if p.name[11:].isdecimal()]
        return sorted(folders, key=lambda path: int(path.name[11:]))


def model_saver(model: Any) -> Callable[[str], Any]:
    """Returns a function that saves a model in a folder, without the model card of its library."""
    return partial(model.save_pretrained, create_model_card=False)


def save_atomically(save: Callable[[str], Any], folder: Path) -> None:
    """Saves a model so that its folder is either complete or unchanged.

    Args:
        save: saves the model in the folder that it is given.
        folder: the folder of the model.
    """
    new, old = folder.with_name(f"{folder.name}.partial"), folder.with_name(f"{folder.name}.old")
    if old.exists() and not folder.exists():  # interrupted between the two renames below
        old.rename(folder)
    for path in (new, old):
        shutil.rmtree(path, ignore_errors=True)
    save(str(new))
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def read_training_record(path: Path) -> dict[str, Any]:
    """Returns the content of a JSON file that training has written.

    Raises:
        InputError: the file is damaged.
    """
    try:
        content = load_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"damaged, training did not write this: {error}",
            file=path,
            remedy="start again with --restart",
        ) from None
    return dict(content)


def _without_held(plan: Any) -> Any:
    """Returns a plan without the setting that a training may go on with otherwise."""
    if isinstance(plan, Mapping):
        return {key: _without_held(value) for key, value in plan.items() if key != _HELD}
    return [_without_held(value) for value in plan] if isinstance(plan, list | tuple) else plan


def first_difference(old: Any, new: Any) -> str | None:
    """Returns the first difference between two plans, in words; None if they are equal."""
    return _difference(comparable(old), comparable(new), "")


def _difference(old: Any, new: Any, where: str) -> str | None:
    if old == new:
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        key = next(key for key in [*old, *new] if old.get(key) != new.get(key))
        return _difference(old.get(key), new.get(key), f"{where}.{key}" if where else key)
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{len(old)} {where} then and {len(new)} now"
        number = next(i for i, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        return _difference(old[number], new[number], f"{where} {number + 1}")
    return f"{where} was {old} and is {new}"

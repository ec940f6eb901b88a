"""Where a training stands: what it is of, its checkpoints, and its best model so far."""

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
from irtoolkit.training.model_paths import comparable

# In a checkpoint's folder when it is whole.
_WHOLE = "follower.json"
_PLAN = "plan.json"
_DONE = "stage.json"
# Says that a model that is there is being trained again.
_RESTARTED = "restarted"


@dataclass(frozen=True)
class Workplace:
    """The folder of a training that has not ended.

    Attributes:
        folder: beside the model's own, which appears only when all is done.
    """

    folder: Path

    def claim(self, plan: Mapping[str, Any], restart: bool = False) -> None:
        """Makes the folder this training's.

        Args:
            plan: everything that decides the weights.
            restart: whether to throw away what is there.

        Raises:
            InputError: what is there is of another training; names the first difference.
        """
        if restart:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            (self.folder / _RESTARTED).touch()
        path = self.folder / _PLAN
        if path.is_file():
            other = difference(read_json(path), plan)
            if other is not None:
                raise InputError(
                    f"the checkpoints in {self.folder} are of another training: {other}",
                    remedy="name another folder with -o, or start again with --restart",
                )
            return
        with atomic_text(path) as out:
            json.dump(comparable(plan), out, indent=1)

    def restarted(self) -> bool:
        """Whether a training with --restart was interrupted here."""
        return (self.folder / _RESTARTED).is_file()

    def stage(self, number: int) -> StagePlace:
        """The place of one stage, from 1."""
        return StagePlace(self.folder / f"stage-{number}")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class StagePlace:
    """The folder of one stage: checkpoints, the best models so far, and at last its model."""

    folder: Path

    @property
    def model(self) -> Path:
        """The stage's model, which is there when the stage is done."""
        return self.folder / "model"

    def best(self, step: int) -> Path:
        """The model of an evaluation that was the best so far."""
        return self.folder / f"best-{step}"

    def forget_bests(self, but: int | None = None) -> None:
        """Removes the models of evaluations, but for one."""
        for path in self.folder.glob("best-*"):
            if but is None or path != self.best(but):
                shutil.rmtree(path, ignore_errors=True)

    def done(self) -> dict[str, Any] | None:
        """What is recorded of the stage when it is done."""
        path = self.folder / _DONE
        return read_json(path) if path.is_file() else None

    def finish(self, record: Mapping[str, Any]) -> None:
        """Records that the stage is done, and lets its checkpoints go."""
        with atomic_text(self.folder / _DONE) as out:
            json.dump(record, out, indent=1)
        for path in self._checkpoints():
            shutil.rmtree(path, ignore_errors=True)
        self.forget_bests()

    def last(self) -> Path | None:
        """The newest checkpoint that is whole; those that are not are removed."""
        found = None
        for path in self._checkpoints():
            if (path / _WHOLE).is_file():
                found = path
            else:
                shutil.rmtree(path, ignore_errors=True)
        return found

    def checkpoint(self, step: int) -> Path:
        return self.folder / f"checkpoint-{step}"

    def seal(self, step: int, state: Mapping[str, Any]) -> None:
        """Marks a checkpoint as whole, with what has been measured up to it."""
        with atomic_text(self.checkpoint(step) / _WHOLE) as out:
            json.dump(state, out, indent=1)

    @staticmethod
    def sealed(checkpoint: Path) -> dict[str, Any]:
        """What had been measured when a checkpoint was made."""
        return read_json(checkpoint / _WHOLE)

    def _checkpoints(self) -> list[Path]:
        found = [p for p in self.folder.glob("checkpoint-*") if p.name[11:].isdecimal()]
        return sorted(found, key=lambda path: int(path.name[11:]))


def saver(model: Any) -> Callable[[str], Any]:
    """Saves a model into a folder without the card that its library would write; ours comes last."""
    return partial(model.save_pretrained, create_model_card=False)


def save_whole(save: Callable[[str], Any], folder: Path) -> None:
    """Saves a model so that its folder is there whole or as it was."""
    new, old = folder.with_name(f"{folder.name}.partial"), folder.with_name(f"{folder.name}.old")
    if old.exists() and not folder.exists():  # it was interrupted between its two renames
        old.rename(folder)
    for path in (new, old):
        shutil.rmtree(path, ignore_errors=True)
    save(str(new))
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that a training has written.

    Raises:
        InputError: it is damaged.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"not what a training writes: {error}", file=path, remedy="start again with --restart"
        ) from None
    return dict(content)


def difference(old: Any, new: Any) -> str | None:
    """The first place where two plans differ, in words; None where they are the same."""
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

"""What several tests of training look at: a recipe that processes share equally, and trained models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.training.checkpoints import StageFolder
from irtoolkit.training.model_paths import RECORD
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.trainer import TrainedModel, train
from tests import planted

# Of the losses of several processes beside those of one: the order of sums differs.
BOUND = 1e-4


def recipe_file(folder: Path, epochs: int = 7) -> Path:
    """A recipe with whole batches in each epoch, which two processes share equally, and its data."""
    start = planted.start(folder / "start", num_hidden_layers=2)
    file, path = folder / "examples.jsonl", folder / "mine.toml"
    units = [
        {"id": f"e{t}", "text": f"d{t}x0 d{t}x1 d{t}x2", "left": f"q{t}x0 n1", "right": f"q{t}x2"}
        for t in range(24)
    ]
    file.write_text("".join(f"{json.dumps({**unit, 'marker': 'e.g.'})}\n" for unit in units))
    path.write_text(
        f'start = "{start}"\nencoders = 2\npooling = "mean"\nsimilarity = "cosine"\n\n[[stage]]\n'
        f'source = "examples"\nfile = "{file}"\nloss = "in-batch"\nscale = 20\nbatch = 8\n'
        f"rate = 1e-3\nepochs = {epochs}\n"
    )
    return path


def losses(folder: Path) -> list[float]:
    """The losses of the first stage of a trained model."""
    return [row["loss"] for row in json.loads((folder / RECORD).read_text())["stages"][0]["losses"]]


def weights(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of a model, by the name of its folder and its own."""
    from safetensors.numpy import load_file

    found = {
        f"{path.parent.name}/{name}": values
        for path in sorted(folder.rglob("*.safetensors"))
        for name, values in load_file(path).items()
    }
    assert found
    return found


def same(one: Path, other: Path) -> bool:
    """Whether two models have the same bytes."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    return all(np.array_equal(first[name], second[name]) for name in first)


def assert_shared(one: Path, several: Path, skipped: int = 0) -> None:
    """Asserts that several processes have trained the model of one.

    Args:
        one, several: folders of the two models.
        skipped: losses that are not compared, the first ones.
    """
    alone, shared = losses(one), losses(several)
    assert alone
    assert len(alone) == len(shared)
    assert shared[skipped:] == pytest.approx(alone[skipped:], rel=BOUND)
    first, second = weights(one), weights(several)
    assert first.keys() == second.keys()
    for name, values in first.items():
        # The gradient of a key's bias is zero but for rounding, and of that Adam makes whole steps.
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(second[name], values, atol=2e-4, err_msg=name)


@contextmanager
def interrupted(step: int) -> Iterator[None]:
    """Interrupts the training within, once its checkpoint of a step is complete."""
    complete = StageFolder.complete

    def stopped(self: StageFolder, at: int, state: dict[str, Any]) -> None:
        complete(self, at, state)
        if at == step:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StageFolder, "complete", stopped)
        with pytest.raises(KeyboardInterrupt):
            yield


class Trainer:
    """Trains on the CPU, at most so often, and keeps the recipes."""

    def __init__(self, most: int = 99) -> None:
        self.asked: list[Recipe] = []
        self._most = most

    def __call__(self, recipe: Recipe, out: Path) -> TrainedModel:
        if len(self.asked) == self._most:
            raise KeyboardInterrupt
        self.asked.append(recipe)
        return train(recipe, out, device="cpu")

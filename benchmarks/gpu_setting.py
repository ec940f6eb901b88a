"""What the checks of gpu.py share: the machine, a model of random weights, how a check is run."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import training
from training import BASE, Shape

# A model and batches that a CPU computes in no time.
TINY = Shape(layers=1, width=32, heads=2, vocabulary=500, batch=4, tokens=16)


# Words that make one token, about.
_WORDS = 0.8


class MissingError(Exception):
    """Something that a check needs is not here."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: its name.
        run: computes its figures; AssertionError says that it failed.
        seconds: what it takes on a GPU, at most.
        needs: further modules that must be installed.
    """

    name: str
    run: Callable[[Setting], dict[str, Any]]
    seconds: float = 30
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """Where and with what the checks are run.

    Attributes:
        device: "cuda" or "cpu".
        home: folder for what they write.
        model: folder of a small encoder; None is the preset all-MiniLM-L6-v2, where it is here.
    """

    device: str
    home: Path
    model: str | None

    @property
    def gpu(self) -> bool:
        """Whether there is a GPU."""
        return self.device == "cuda"

    @property
    def shape(self) -> Shape:
        """BERT-base's shape on a GPU, and a tiny one else."""
        return replace(BASE, batch=64, tokens=256) if self.gpu else TINY

    @cached_property
    def start(self) -> str:
        """Folder of a RoBERTa of random weights."""
        return training.start(self.home / "start", self.shape)

    @cached_property
    def cross(self) -> str:
        """Folder of a cross-encoder of random weights."""
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = str(self.home / "cross")
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_pretrained(self.start, num_labels=1)
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(self.start).save_pretrained(folder)
        return folder

    @cached_property
    def rate(self) -> float:
        """Operations a second of a product of two matrices."""
        return training.matrix_rate(self.gpu)

    def count(self, on_gpu: int, else_: int) -> int:
        """A number of texts, rows or candidates."""
        return on_gpu if self.gpu else else_

    def texts(self, count: int, seed: int = 0) -> list[str]:
        """Texts of mixed length, up to more than the model takes."""
        draw = np.random.default_rng(seed)
        known = np.array(training.words(self.shape.vocabulary))
        longest = self.shape.tokens
        lengths = np.clip(draw.lognormal(np.log(longest / 8), 0.8, count).astype(int), 3, longest)
        return [" ".join(draw.choice(known, length)) for length in lengths]

    def full_texts(self, count: int, seed: int = 0, tokens: int | None = None) -> list[str]:
        """Texts of about as many tokens as the model takes, or as `tokens`."""
        known = np.array(training.words(self.shape.vocabulary))
        drawn = np.random.default_rng(seed).integers(
            len(known), size=(count, max(1, int(_WORDS * (tokens or self.shape.tokens))))
        )
        return [" ".join(known[row]) for row in drawn]

    def work(self, lengths: np.ndarray[Any, Any]) -> float:
        """Operations of encoding texts of these lengths in tokens; padding is no work."""
        shape, tokens = self.shape, np.minimum(lengths, self.shape.tokens).astype(float)
        weights = shape.layers * 12 * shape.width**2
        products = 4 * shape.layers * shape.width * (tokens**2).sum()
        return float(2 * weights * tokens.sum() + products)

    def timed(self, work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
        """Seconds of a piece of work to its end on the GPU, at best, and what it gives."""
        import torch

        seconds, found = [], None
        for _ in range(times):
            started = time.perf_counter()
            found = work()
            if self.gpu:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - started)
        return min(seconds), found


def run_check(check: Check, setting: Setting, left: float) -> dict[str, Any]:
    """The name, the result, the seconds and the figures of a check.

    Args:
        check: the check.
        setting: where it is run.
        left: seconds that are left; a check that takes more is skipped.
    """
    found: dict[str, Any] = {"name": check.name}
    absent = [name for name in check.needs if find_spec(name) is None]
    if absent:
        return {**found, "result": "missing", "reason": f"not installed: {', '.join(absent)}"}
    if left < (check.seconds if setting.gpu else 0):
        return {
            **found,
            "result": "skipped",
            "reason": f"{left:.0f} of {check.seconds:g} seconds left",
        }
    started = time.monotonic()
    try:
        figures, result = check.run(setting), "passed"
    except MissingError as error:
        figures, result = {"reason": str(error)}, "missing"
    except (Exception, SystemExit) as error:
        lines = traceback.extract_tb(error.__traceback__)
        where = f"{Path(lines[-1].filename).name}:{lines[-1].lineno}"
        reason = f"{type(error).__name__} at {where}: {str(error)[:500]}"
        figures, result = {"reason": reason}, "failed"
    seconds = round(time.monotonic() - started, 2)
    return {**found, "result": result, "seconds": seconds, **figures}

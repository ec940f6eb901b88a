"""The one path by which every model is trained."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.ids import Ints
from irtoolkit.models import loading, presets
from irtoolkit.runs import provenance
from irtoolkit.training import card
from irtoolkit.training.building import build_model, freeze_documents, separator
from irtoolkit.training.checkpoints import (
    StagePlace,
    Workplace,
    difference,
    read_json,
    save_whole,
    saver,
)
from irtoolkit.training.evaluating import Test, make_test
from irtoolkit.training.losses import LOSSES, check
from irtoolkit.training.lstm import SCRATCH
from irtoolkit.training.model_paths import RECORD, is_trained
from irtoolkit.training.processes import agreed, device_of, rank, together, world
from irtoolkit.training.recipes import Recipe, Stage, verify
from irtoolkit.training.sets import TrainingSet, build


@dataclass(frozen=True)
class How:
    """How a training is run; nothing here decides the weights.

    Attributes:
        device: a torch device; by default a GPU when there is one.
        save_every: steps between checkpoints; they are also made at each evaluation.
        restart: whether to throw away the checkpoints that are there.
        workers: processes that prepare batches; 0 prepares them in this one.
        tensorboard: a folder for its event files.
    """

    device: str | None = None
    save_every: int = 500
    restart: bool = False
    workers: int = 0
    tensorboard: str | None = None


@dataclass(frozen=True)
class Trained:
    """What training has left.

    Attributes:
        folder: of the model.
        record: how it was made: recipe, data, evaluations, speed, commit, versions.
        reused: whether it was there already.
    """

    folder: Path
    record: dict[str, Any]
    reused: bool = False


@dataclass(frozen=True)
class _Ready:
    """A stage whose data are at hand."""

    stage: Stage
    rows: TrainingSet
    test: Test | None


def train(recipe: Recipe, out: StrPath, how: How | None = None) -> Trained:
    """Trains a model.

    Whoever is interrupted goes on at the last checkpoint, with the same weights in the end. The
    folder appears when all is done. Under torchrun the processes share each batch, and the loss is
    that of one process with the whole of it.

    Args:
        recipe: what on, and how.
        out: the folder of the model.
        how: what does not decide the weights.

    Raises:
        InputError: the recipe cannot be followed with these data or this model; there is a model
            or a checkpoint of another training; the loss is not finite; memory does not suffice.
    """
    how = how or How()
    device = device_of(how.device)
    folder = Path(out).expanduser().absolute()
    _check(recipe, how, folder)
    work = Workplace(folder.with_name(f"{folder.name}.training"))
    join = separator(recipe)
    ready = [_prepare(recipe, stage, join) for stage in recipe.stages]
    plan = _plan(recipe, ready)
    if not how.restart and not work.restarted():
        made = _made(folder, plan)
        if made is not None:
            return made
    _refuse_strangers(folder)
    first = rank() == 0
    if first:
        # Neither is told of the model in the end, but who goes on must go on with the same.
        run = {"processes": world(), "precision": loading.dtype_of(recipe.precision, device)}
        work.claim({**plan, **run}, how.restart)
    together(device)
    started = time.monotonic()
    places: list[StagePlace] = []
    for number, one in enumerate(ready, 1):
        before = places[-1].model if places else None
        places.append(work.stage(number))
        if places[-1].done() is None:
            what = f"stage {number} of {len(ready)}"
            texts = (text for each in ready for text in chain(each.rows.queries, each.rows.docs))
            _Run(recipe, one, places[-1], before, how, what, texts).run()
            together(device)
    record = {
        "plan": plan,
        "stages": [place.done() for place in places],
        **provenance.circumstances(time.monotonic() - started),
    }
    if first:
        _deliver(recipe, record, places[-1].model, folder)
        work.remove()
    together(device)
    return Trained(folder, record)


def _check(recipe: Recipe, how: How, folder: Path) -> None:
    """Sees to it that training can begin, before anything is read."""
    if not _installed():
        raise needs_extra("sentence-transformers[train]", "train")
    verify(recipe)
    if how.save_every < 1:
        raise InputError(f"save_every={how.save_every} is not at least 1")
    for stage in recipe.stages:
        check(recipe, stage)
    if folder.is_file():
        raise InputError(f"{folder} is a file", remedy="name a folder with -o")
    for key, what, lines in (
        ("sememes", "lexicon of sememes", "lines of a word, a tab and its sememes; or a recipe without"),
        ("words", "file of word vectors", "lines of a word and numbers; or leave words out"),
    ):  # fmt: skip
        file = getattr(recipe, key)
        if file is not None and not Path(file).is_file():
            raise InputError(f"there is no {what} {file}", remedy=f"--set {key}=FILE, {lines}")


def _made(folder: Path, plan: dict[str, Any]) -> Trained | None:
    """The model that is there already, if there is one and it is of this training."""
    if not is_trained(folder):
        return None
    record = read_json(folder / RECORD)
    other = difference(record["plan"], plan)
    if other is not None:
        raise InputError(
            f"{folder} holds a model of another training: {other}",
            remedy="name another folder with -o, or train again with --restart",
        )
    return Trained(folder, record, reused=True)


def _refuse_strangers(folder: Path) -> None:
    """Whatever else stands in the folder is somebody's."""
    if folder.exists() and not is_trained(folder) and any(folder.iterdir()):
        raise InputError(
            f"{folder} is there and was not made by training", remedy="name another folder with -o"
        )


def _prepare(recipe: Recipe, stage: Stage, join: str) -> _Ready:
    rows = build(stage, join)
    held = None
    if stage.held_out:
        kept, out = _split(rows, stage, recipe.seed)
        rows, held = rows.select(kept), rows.select(out)
    return _Ready(stage, rows, make_test(stage, held, join))


def _split(rows: TrainingSet, stage: Stage, seed: int) -> tuple[Ints, Ints]:
    """Rows to train on and rows held out: whole groups where grouped, else whole queries."""
    owner = rows.groups if stage.grouped else np.unique(rows.query_ids, return_inverse=True)[1]
    owners = np.unique(owner)
    count = round(len(owners) * stage.held_out)
    if not 0 < count < len(owners):
        raise InputError(
            f"held_out={stage.held_out} of {len(owners)} {'groups' if stage.grouped else 'queries'}"
            f" of {rows.what} leaves nothing on one side",
            remedy="a share that leaves some on both",
        )
    chosen = np.random.default_rng(seed).choice(owners, count, replace=False)
    out = np.isin(owner, chosen)
    return np.flatnonzero(~out), np.flatnonzero(out)


def _plan(recipe: Recipe, ready: list[_Ready]) -> dict[str, Any]:
    """Everything that decides the weights, as JSON."""
    starts = {
        name: presets.fingerprint(presets.find(name))
        for name in (recipe.start, recipe.query_start)
        if name is not None and name not in SCRATCH
    }
    settings = recipe.settings()
    settings["stages"] = [dict(stage) for stage in settings["stages"]]
    data = [one.rows.fingerprint for one in ready]
    if recipe.words is not None:
        starts[recipe.words] = sha256(recipe.words)
    lexicon = None if recipe.sememes is None else sha256(recipe.sememes)
    tests = [None if one.test is None else one.test.fingerprint() for one in ready]
    return {
        "recipe": recipe.name, "settings": settings, "data": data, "tests": tests, "start": starts,
        "sememes": lexicon,
    }  # fmt: skip


def _deliver(recipe: Recipe, record: dict[str, Any], model: Path, folder: Path) -> None:
    def save(partial: str) -> None:
        shutil.copytree(model, partial)
        text = card.write(recipe, record, own=loading.has_our_modules(partial))
        (Path(partial) / "README.md").write_text(text, "utf-8")
        (Path(partial) / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")

    save_whole(save, folder)


class _Run:
    """One stage from its start, or its last checkpoint, to its end."""

    def __init__(
        self, recipe: Recipe, ready: _Ready, place: StagePlace, before: Path | None, how: How,
        what: str, texts: Iterable[str],
    ) -> None:  # fmt: skip
        self.recipe, self.stage, self.rows, self.test = recipe, ready.stage, ready.rows, ready.test
        self.place, self.before, self.how, self.what = place, before, how, what
        self._texts = texts  # of all stages
        self.device = device_of(how.device)

    def run(self) -> None:
        """Trains it, and leaves its model and what is told of it in its place."""
        with _quiet():
            self._train()

    def _train(self) -> None:
        import torch

        from irtoolkit.training.loop import Follower, make_trainer

        # Set before anything random is made: a head, sememes, a projection.
        torch.manual_seed(self.recipe.seed)
        model = self._model()
        if self.stage.frozen == "documents":
            freeze_documents(model)
        follower = Follower(self)
        with _memory(self):
            trainer = make_trainer(self, model, follower)
            last = self.place.last() if rank() == 0 else None
            found = agreed(None if last is None else str(last))
            steps = 0
            if found is not None:
                follower.restore(self.place.sealed(Path(found)))
                steps = int(found.rpartition("-")[2])
            if found is not None and (follower.exhausted() or steps >= follower.total()):
                # Whoever was killed after the last step has nothing left to train.
                trainer._load_from_checkpoint(found)
            else:
                trainer.train(resume_from_checkpoint=found)
                steps = trainer.state.global_step
        if rank() == 0:
            self._finish(model, follower, steps)

    def _model(self) -> Any:
        if self.before is None:
            return build_model(self.recipe, self.recipe.seed, self.device, self._texts)
        return loading.open_model(self.recipe.kind, str(self.before), device=self.device)

    def _finish(self, model: Any, follower: Any, steps: int) -> None:
        best = follower.best()
        if best is None or best["step"] == steps:
            save_whole(saver(model), self.place.model)
        else:
            folder = self.place.best(best["step"])
            if not folder.is_dir():
                raise InputError(
                    f"the model of step {best['step']}, the best, is gone from {folder}",
                    remedy="start again with --restart",
                )
            save_whole(partial(shutil.copytree, folder), self.place.model)
        self.place.finish({
            "data": self.rows.what, "rows": len(self.rows), "steps": steps,
            "best": best, "evaluations": follower.evaluations, "losses": follower.losses,
            "seconds": round(follower.seconds(), 1), "rows per second": follower.speed(),
            "peak memory MiB": follower.peak(),
        })  # fmt: skip


class _memory:
    """Turns the libraries' errors for want of memory into one that says what to lower."""

    def __init__(self, run: _Run) -> None:
        self._stage, self._kind = run.stage, run.recipe.kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import torch

        lacking = isinstance(error, MemoryError | torch.OutOfMemoryError) or (
            isinstance(error, RuntimeError) and "allocate memory" in str(error)
        )
        if not lacking:
            return
        held = self._stage.chunk or self._stage.batch
        ways = [
            f"chunk={max(1, held // 2)}, which holds fewer rows at once and changes no gradient"
            if self._kind in LOSSES[self._stage.loss].cached
            else f"batch={max(1, held // 2)}",
            "query_length and doc_length", "checkpointing=true", "precision=bf16 on a GPU",
        ]  # fmt: skip
        raise InputError(
            f"memory does not suffice for {held} rows at once",
            remedy=f"lower it: {'; '.join(ways)}",
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers from a bar for each file saved, and from what it says of them."""
    from transformers.utils import logging

    said = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(said)
        logging.enable_progress_bar()


def _installed() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("sentence_transformers", "accelerate", "datasets"))

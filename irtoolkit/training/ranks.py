"""Training by the workers of an engine: processes of this machine, or of a Ray cluster."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.engines.choose import wanted_workers
from irtoolkit.engines.engine import Engine
from irtoolkit.engines.work import WorkerKilledError
from irtoolkit.training.processes import LostPeerError
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.rendezvous import MEET
from irtoolkit.training.trainer import TrainedModel, train


@dataclass(frozen=True)
class _Rank:
    """A process among those that train together.

    Attributes:
        rank, size: its number, and how many there are.
        place: the rendezvous file, which all of them can access.
    """

    rank: int
    size: int
    place: str


@dataclass(frozen=True)
class _Training:
    """The work of one of several training processes, which is sent to a worker."""

    recipe: Recipe
    out: str
    options: Mapping[str, Any]

    def __call__(self, rank: _Rank) -> TrainedModel | LostPeerError:
        """Returns the trained model; if another process was lost, only the error for that."""
        variables = {
            "RANK": str(rank.rank),
            "WORLD_SIZE": str(rank.size),
            # A worker sees its own GPU only.
            "LOCAL_RANK": "0",
            MEET: rank.place,
            # accelerate wants to see these, though the processes have met by then.
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "0",
        }
        os.environ.update(variables)
        try:
            return train(self.recipe, self.out, **self.options)
        except LostPeerError as error:
            return error
        finally:
            for name in variables:
                os.environ.pop(name, None)
            _leave()


def train_with(
    engine: Engine, count: int, recipe: Recipe, out: StrPath, **options: Any
) -> TrainedModel:
    """Trains in several workers of an engine, which share each batch.

    Args:
        engine: the engine of the workers; all of them must have access to the folder of the model.
        count: number of workers; an engine with fewer waits in vain and says so.
        recipe, out, options: see `train`.

    Raises:
        InputError: an error of `train`; or a worker was killed, and the others have been ended.
    """
    folder = Path(out).expanduser().absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    meeting_file = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.meet")
    ranks = [_Rank(rank, count, str(meeting_file)) for rank in range(count)]
    gpus = float(options.get("device") != "cpu" and engine.gpus > 0)
    try:
        work = _Training(recipe, str(folder), options)
        outcomes = list(engine.map(work, ranks, gpus=gpus, together=True))
    except WorkerKilledError as error:
        raise InputError(
            f"process {error.number} of {count} was killed in training, perhaps for lack of memory",
            remedy="rerun the same command: it resumes from the last checkpoint; a lower batch or"
            " chunk takes less memory",
        ) from None
    finally:
        for path in folder.parent.glob(f"{meeting_file.name}*"):
            with suppress(OSError):
                path.unlink()
    for outcome in outcomes:
        if isinstance(outcome, LostPeerError):
            raise outcome
    first = outcomes[0]
    assert isinstance(first, TrainedModel)
    return first


def ranks_of(engine: Engine, workers: int | None) -> int:
    """Returns how many workers train: the given number, or else one for each GPU, or else one.

    The number of workers set for the engine counts as given.
    """
    if workers is None:
        workers = wanted_workers()
    return workers or max(1, engine.gpus)


def in_this_process(engine: Engine, workers: int | None) -> bool:
    """Returns whether to train here: one worker alone without a GPU would only be farther away."""
    return engine.name == "local" or (ranks_of(engine, workers) == 1 and not engine.gpus)


def _leave() -> None:
    """Leaves the libraries' process group, so that processes that wait for this one notice."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)

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
    """One of the processes that train together.

    Attributes:
        rank, size: its number, and how many there are.
        place: a file that all of them reach, where they meet.
    """

    rank: int
    size: int
    place: str


@dataclass(frozen=True)
class _Training:
    """Trains as one of several processes; what a worker is given."""

    recipe: Recipe
    out: str
    options: Mapping[str, Any]

    def __call__(self, one: _Rank) -> TrainedModel | LostPeerError:
        """The model; of a process that has lost another one, only that, as the other says why."""
        variables = {
            "RANK": str(one.rank), "WORLD_SIZE": str(one.size),
            # A worker sees its own GPU only.
            "LOCAL_RANK": "0", MEET: one.place,
            # accelerate wants to see these, though the processes have met by then.
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0",
        }  # fmt: skip
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
        engine: whose workers train; all of them must reach the folder of the model.
        count: number of workers; an engine with fewer waits in vain and says so.
        recipe, out, options: see `train`.

    Raises:
        InputError: what `train` raises; or a worker was killed, and the others have been ended.
    """
    folder = Path(out).expanduser().absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.meet")
    ranks = [_Rank(rank, count, str(place)) for rank in range(count)]
    gpus = 0.0 if options.get("device") == "cpu" else _gpus(engine)
    try:
        work = _Training(recipe, str(folder), options)
        found = list(engine.map(work, ranks, gpus=gpus, together=True))
    except WorkerKilledError as error:
        raise InputError(
            f"process {error.number} of {count} was killed in training, perhaps for lack of memory",
            remedy="rerun the same command: it resumes from the last checkpoint; a lower batch or"
            " chunk takes less memory",
        ) from None
    finally:
        for path in folder.parent.glob(f"{place.name}*"):
            with suppress(OSError):
                path.unlink()
    for each in found:
        if isinstance(each, LostPeerError):
            raise each
    first = found[0]
    assert isinstance(first, TrainedModel)
    return first


def ranks_of(engine: Engine, workers: int | None) -> int:
    """How many workers train: as many as are wanted, else one for each GPU, else one.

    The number of pieces that an engine was asked to work on at once is wanted, too.
    """
    if workers is None:
        workers = wanted_workers()
    return workers or max(1, _visible(engine))


def in_this_process(engine: Engine, workers: int | None) -> bool:
    """Whether to train here: one worker alone without a GPU would only be farther away."""
    return engine.name == "local" or (ranks_of(engine, workers) == 1 and not _visible(engine))


def _gpus(engine: Engine) -> float:
    return 1.0 if _visible(engine) else 0.0


def _visible(engine: Engine) -> int:
    """Number of GPUs that an engine's workers have."""
    if engine.name == "ray":
        import ray

        return int(ray.cluster_resources().get("GPU", 0))
    from irtoolkit.engines.gpus import visible_gpus

    return len(visible_gpus())


def _leave() -> None:
    """Ends what the libraries keep of a group of processes, so that those that wait notice."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)

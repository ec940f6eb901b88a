"""The processes that train together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import launch
from irtoolkit.base.locks import locked, remove_left
from irtoolkit.models import loading
from irtoolkit.training.rendezvous import meet


class LostPeerError(InputError):
    """Another process of this training has ended; its own error says why."""


@dataclass(frozen=True)
class ProcessRank:
    """The rank of a process among those that train together.

    Attributes:
        rank: number of the process, from 0; process 0 writes files and messages.
        world_size: number of processes.
    """

    rank: int = 0
    world_size: int = 1

    @classmethod
    def of_environment(cls) -> ProcessRank:
        """Returns the rank of this process, as its launcher sets it."""
        process = launch()
        return cls(process.rank, process.size)


def is_first_process() -> bool:
    """Returns whether this process writes files and messages."""
    return ProcessRank.of_environment().rank == 0


def world_size() -> int:
    """Returns the number of processes that train together."""
    return ProcessRank.of_environment().world_size


def process_device(device: str | None) -> str:
    """Returns the torch device of this process: the given one, else its GPU, or else the CPU.

    Raises:
        InputError: there is no such device, or several processes would share one GPU.
    """
    if world_size() > 1 and device is not None and device.startswith("cuda:"):
        raise InputError(
            f"device {device}: each of {world_size()} processes has its own GPU",
            remedy="leave --device out, or give --device cpu",
        )
    return loading.torch_device(None if device == "cuda" else device)


def wait_for_all(device: str) -> None:
    """Waits until every process has reached this point.

    Processes on several machines must share a file system.
    """
    if world_size() == 1:
        return
    import torch

    if not torch.distributed.is_initialized():
        if device.startswith("cuda"):
            torch.cuda.set_device(device)
        meet("nccl" if device.startswith("cuda") else "gloo")
    with noticing_lost_peers():
        torch.distributed.barrier()


@contextmanager
def noticing_lost_peers() -> Iterator[None]:
    """Turns torch's exception for an ended peer process into one clear error.

    Raises:
        LostPeerError: another process of this training has ended.
    """
    try:
        yield
    except RuntimeError as error:
        if world_size() == 1:
            raise
        import torch

        # Gloo raises plain errors.
        if not isinstance(error, torch.distributed.DistError) and "gloo" not in str(error):
            raise
        raise LostPeerError(
            f"another process of this training has ended: {' '.join(str(error).split())[:120]}",
            remedy="its own message says why",
        ) from None


def average_gradients(model: Any) -> None:
    """Replaces a model's gradients by their mean over all processes.

    Those of a sharded model have already been averaged. DistributedDataParallel requires one call
    of the model in a step, and the losses of sentence-transformers make more: it refuses them, or
    sends gradients ten times; around losses of our own it would give the same weights, and be no
    faster (`benchmarks/gradients.py`).
    """
    if world_size() == 1:
        return
    import torch
    from torch.distributed.tensor import DTensor

    present = [weights.grad for weights in model.parameters() if weights.grad is not None]
    gradients = [gradient for gradient in present if not isinstance(gradient, DTensor)]
    if not gradients:
        return
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.distributed.all_reduce(flat)
    flat /= world_size()
    means = torch.split(flat, [gradient.numel() for gradient in gradients])
    for gradient, mean in zip(gradients, means, strict=True):
        gradient.copy_(mean.view_as(gradient))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps other trainings from the folder of a model while these processes train it.

    The lock ends with the first process, however that ends.

    Raises:
        InputError: another training has it; in every process.
    """
    with ExitStack() as stack:
        refused = from_first(_refusal(folder, stack) if is_first_process() else None)
        if refused is not None:
            raise refused
        yield


def remove_left_lock(folder: Path) -> None:
    """Removes the lock of a training that was killed when it had the model complete."""
    if is_first_process():
        remove_left(_lock_of(folder))


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _refusal(folder: Path, stack: ExitStack) -> InputError | None:
    """Locks the folder of a model until the end of `stack`, or says why not."""
    try:
        acquired = stack.enter_context(locked(_lock_of(folder), wait=False, remove=True))
    except InputError as error:
        return error
    if acquired:
        return None
    return InputError(
        f"another training is writing {folder}",
        remedy="wait until it has ended, or name another folder with -o",
    )


def from_first(value: Any) -> Any:
    """Returns the value that the first process has, in every process."""
    if world_size() == 1:
        return value
    import torch

    box = [value]
    torch.distributed.broadcast_object_list(box)
    return box[0]

"""The processes that torchrun starts to train together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading


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
        """The rank of this process, as torchrun sets it."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))


def is_first_process() -> bool:
    """Whether this process is the one that writes files and messages."""
    return ProcessRank.of_environment().rank == 0


def world_size() -> int:
    """Number of processes that train together."""
    return ProcessRank.of_environment().world_size


def process_device(device: str | None) -> str:
    """The torch device of this process: the given one, else its GPU, else the CPU.

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
        # One process evaluates while the others wait, which may take hours.
        backend = "nccl" if device.startswith("cuda") else "gloo"
        torch.distributed.init_process_group(backend, timeout=timedelta(days=1))
    torch.distributed.barrier()


def average_gradients(model: Any) -> None:
    """Replaces a model's gradients by their mean over all processes."""
    if world_size() == 1:
        return
    import torch

    gradients = [weights.grad for weights in model.parameters() if weights.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.distributed.all_reduce(flat)
    flat /= world_size()
    means = torch.split(flat, [gradient.numel() for gradient in gradients])
    for gradient, mean in zip(gradients, means, strict=True):
        gradient.copy_(mean.view_as(gradient))


def from_first(value: Any) -> Any:
    """The value that the first process has, in every process."""
    if world_size() == 1:
        return value
    import torch

    box = [value]
    torch.distributed.broadcast_object_list(box)
    return box[0]

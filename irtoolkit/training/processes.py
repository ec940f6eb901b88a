"""The processes that torchrun starts to train together."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading


def rank() -> int:
    """This process's number; 0 is the one that writes."""
    return int(os.environ.get("RANK", "0"))


def world() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def device_of(device: str | None) -> str:
    """The torch device of this process: the one named, else its GPU, else the CPU.

    Raises:
        InputError: there is no such device, or several processes would share one GPU.
    """
    if world() > 1 and device is not None and device.startswith("cuda:"):
        raise InputError(
            f"device {device}: each of {world()} processes has a GPU of its own",
            remedy="leave --device out, or --device cpu",
        )
    return loading.device_of(None if device == "cuda" else device)


def together(device: str) -> None:
    """Waits for the other processes; those of several machines share a file system."""
    if world() == 1:
        return
    import torch

    if not torch.distributed.is_initialized():
        if device.startswith("cuda"):
            torch.cuda.set_device(device)
        # One evaluates while the others wait, and that may take hours.
        backend = "nccl" if device.startswith("cuda") else "gloo"
        torch.distributed.init_process_group(backend, timeout=timedelta(days=1))
    torch.distributed.barrier()


def average_gradients(model: Any) -> None:
    """Gives every process the mean of all processes' gradients of a model."""
    if world() == 1:
        return
    import torch

    gradients = [weights.grad for weights in model.parameters() if weights.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.distributed.all_reduce(flat)
    flat /= world()
    means = torch.split(flat, [gradient.numel() for gradient in gradients])
    for gradient, mean in zip(gradients, means, strict=True):
        gradient.copy_(mean.view_as(gradient))


def agreed(value: Any) -> Any:
    """What the first process says, in every process."""
    if world() == 1:
        return value
    import torch

    box = [value]
    torch.distributed.broadcast_object_list(box)
    return box[0]

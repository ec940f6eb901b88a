"""Batches on their way to a GPU, and losses on their way back, without waiting for either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from irtoolkit.models.packed import with_layout


def sent(data: Any, device: torch.device, name: str = "") -> Any:
    """Moves a batch to a GPU, with the layout of its padding attached to its masks.

    Args:
        data: tensors, in mappings and sequences.
        device: the GPU.
        name: of a tensor in a mapping.
    """
    if isinstance(data, Mapping):
        return type(data)({key: sent(value, device, str(key)) for key, value in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple | list):
        return type(data)(sent(item, device) for item in data)
    if not isinstance(data, torch.Tensor):
        return data
    moved = data.to(device, non_blocking=True)
    if name.endswith("attention_mask") and data.dim() == 2 and data.device.type == "cpu":
        with_layout(moved, data.numpy())
    return moved


class Awaited:
    """A number that may still be computed.

    Args:
        tensor: of one number.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self._there = tensor.detach()
        self._event: Any = None
        if tensor.is_cuda:
            self._there = torch.empty_like(
                tensor, device="cpu", pin_memory=True, requires_grad=False
            )
            self._there.copy_(tensor.detach(), non_blocking=True)
            self._event = torch.cuda.current_stream(tensor.device).record_event()

    def value(self) -> float:
        """Returns the number, once it is computed."""
        if self._event is not None:
            self._event.synchronize()
        return float(self._there)

"""Ways to make one vector of a transformer's token vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irtoolkit.base.errors import InputError


def _mean(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).float()
    return (output.last_hidden_state.float() * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def _greatest(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).bool()
    return output.last_hidden_state.masked_fill(~mask, float("-inf")).amax(1)


def _at_mask(output: Any, batch: Any, mask_id: int | None) -> Any:
    """The vector of the first mask token; of the first token where a text has none (QuoteR §5.1)."""
    import torch

    places = (batch["input_ids"] == mask_id).int().argmax(dim=1)
    return output.last_hidden_state[torch.arange(len(places)), places]


def _pooler(output: Any, batch: Any, mask_id: int | None) -> Any:
    found = output.get("pooler_output")
    if found is None:
        raise InputError("pooling=pooler: the model has no pooled output", remedy="cls or mean")
    return found


POOLINGS: dict[str, Callable[[Any, Any, int | None], Any]] = {
    "cls": lambda output, batch, mask_id: output.last_hidden_state[:, 0],
    "mean": _mean,
    "max": _greatest,
    "mask": _at_mask,
    "pooler": _pooler,
}

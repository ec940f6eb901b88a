"""Ways to make one vector of a transformer's token vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.models.presets import Preset, place_of, read_model_json

_log = logging.getLogger(__name__)


def _mean(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).float()
    return (output.last_hidden_state.float() * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def _greatest(output: Any, batch: Any, mask_id: int | None) -> Any:
    mask = batch["attention_mask"].unsqueeze(-1).bool()
    return output.last_hidden_state.masked_fill(~mask, float("-inf")).amax(1)


def _last(output: Any, batch: Any, mask_id: int | None) -> Any:
    """Returns the vector of the last token that is not padding, whichever side is padded."""
    import torch

    mask = batch["attention_mask"]
    places = mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)
    return output.last_hidden_state[torch.arange(len(places)), places]


def _at_mask(output: Any, batch: Any, mask_id: int | None) -> Any:
    """Returns the vector of the first mask token, or of the first token (QuoteR §5.1)."""
    import torch

    places = (batch["input_ids"] == mask_id).int().argmax(dim=1)
    return output.last_hidden_state[torch.arange(len(places)), places]


def _pooler(output: Any, batch: Any, mask_id: int | None) -> Any:
    pooled = output.get("pooler_output")
    if pooled is None:
        raise InputError("pooling=pooler: the model has no pooled output", remedy="cls or mean")
    return pooled


POOLINGS: dict[str, Callable[[Any, Any, int | None], Any]] = {
    "cls": lambda output, batch, mask_id: output.last_hidden_state[:, 0],
    "mean": _mean,
    "max": _greatest,
    "last": _last,
    "mask": _at_mask,
    "pooler": _pooler,
}


def implied_pooling(preset: Preset) -> str | None:
    """Returns how a plain transformer is pooled if neither its preset nor the user says it.

    sentence-transformers takes the mean. A model that has modules pools as they do, and is not plain.
    """
    folder = None if preset.pooling is not None else place_of(preset.side("document"))
    if folder is None or (Path(folder) / "sim.pt").is_file():
        return None
    return None if read_model_json(folder, "modules.json") else "mean"


def report_implied_pooling(preset: Preset, name: str) -> None:
    """Logs how a plain transformer is pooled if its files do not say it."""
    pooling = implied_pooling(preset)
    if pooling is not None:
        _log.warning(
            "%s: a plain transformer, which does not say how it pools: pooling=%s is taken",
            name,
            pooling,
        )

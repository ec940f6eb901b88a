"""Batches for a GPU: tokenized fast, sent, and their losses awaited, without waiting between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from irtoolkit.models import limits
from irtoolkit.models.packed import with_layout
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.reading import Reader, reader_of


class FastReading:
    """A replacement of a model's `preprocess`, which makes lists of Python numbers.

    Args:
        model: the model in training, of sentence-transformers.
        kind: its kind.
        original: its own `preprocess`, for all other inputs.
    """

    def __init__(self, model: Any, kind: Kind, original: Callable[..., dict[str, Any]]) -> None:
        self._model, self._kind, self._own = model, kind, original
        self._readers: dict[tuple[Any, ...], Reader | None] = {}

    @property
    def is_complete(self) -> bool:
        """Whether all batches so far were read without the model's own tokenizer, or none was."""
        return all(reader is not None for reader in self._readers.values())

    def __call__(
        self, texts: Sequence[Any], prompt: str | None = None, task: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Returns the features of a batch of texts; see sentence-transformers."""
        original = partial(self._own, prompt=prompt, task=task, **more)
        key = prompt, task, tuple(sorted(more.items()))
        if key not in self._readers:
            self._readers[key] = self._reader(texts, prompt, task, more, original)
        reader = self._readers[key]
        if reader is None:
            return original(list(texts))
        return reader.features(reader(texts)[0], "cpu")

    def _reader(
        self,
        texts: Sequence[Any],
        prompt: str | None,
        task: str | None,
        more: dict[str, Any],
        original: Callable[[list[Any]], Any],
    ) -> Reader | None:
        if not all(isinstance(text, str) for text in texts) or more.keys() - {"max_length"}:
            return None
        side: Side = "query" if task == "query" else "document"
        part = limits.reader_of(self._model, self._kind, side)
        limit = more.get("max_length") or limits.own_limit(part, self._kind, side)
        return reader_of(part.tokenizer, limit, prompt or "", original, texts)


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

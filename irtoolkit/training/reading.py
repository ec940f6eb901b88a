"""Fast tokenization of batches by the tokenizer itself, if that gives the model's own batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from irtoolkit.models import limits
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.reading import Reader, reader_of


class FastReading:
    """A replacement of a model's `preprocess`, which makes lists of Python numbers.

    Args:
        model: the model in training, of sentence-transformers.
        kind: its kind.
        own: its own `preprocess`, for all other inputs.
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

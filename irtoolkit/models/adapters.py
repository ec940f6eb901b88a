"""Models as functions from a batch of texts to an output for each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.near import did_you_mean
from irtoolkit.models import loading
from irtoolkit.models.cuts import Cut, cutting_tokenizer, with_tokenizer
from irtoolkit.models.limits import (
    check_length,
    own_limit,
    own_prompt,
    position_limit,
    set_limit,
)
from irtoolkit.models.limits import (
    reader_of as reading_part,
)
from irtoolkit.models.outputs import (
    OUTPUTS,
    dense_rows,
    shortened,
    static_lengths,
)
from irtoolkit.models.pooling import POOLINGS
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.reading import Reader, Tokens, reader_of
from irtoolkit.models.settings import AdapterSettings
from irtoolkit.models.shards import Output

# A text, or a query with a document for a cross-encoder.
Item = str | tuple[str, str]
# How texts are cut is set on the tokenizer itself, which several adapters may share.
READING = threading.Lock()
_TURN = threading.Lock()


class Adapter(Protocol):
    """A loaded model.

    Attributes:
        device: the device it computes on.
        limit: tokens after which an item is cut; None cuts none.
        similarity: the similarity that its authors compare its vectors by, if the model says so.
        separator: its separator token, if it has one.
    """

    device: str
    limit: int | None
    separator: str | None

    @property
    def similarity(self) -> str | None: ...

    def lengths(self, items: Sequence[Item]) -> Ints:
        """Returns (n,) tokens of each item, uncut."""

    def __call__(self, items: Sequence[Any]) -> list[Output]:
        """Returns the model's output for each item of one batch, or for its tokens."""


class Tokenized:
    """The common part of models with a tokenizer.

    Attributes:
        reader: reads texts ahead of a GPU, if there is a reader that agrees with the model.
    """

    reader: Reader | None = None
    _tried: bool = False

    def __init__(
        self, model: Any, tokenizer: Any, device: str, prompt: str | None, limit: int | None
    ) -> None:
        self._model, self.device, self.prompt = model, device, prompt or ""
        self.tokenizer = tokenizer
        self.limit = limit
        self.separator: str | None = getattr(self.tokenizer, "sep_token", None)

    def read(self, items: Sequence[Item]) -> tuple[Sequence[Any], Ints]:
        """Returns items in the form that suits this model best, and (n,) tokens of each, uncut."""
        if self.device == "cpu" or not hasattr(self, "prepared"):
            return items, self.lengths(items)
        # One after another: while the GPU computes some items, others are read, and not all at once.
        with _TURN:
            if not self._tried:
                prepare = self.prepared
                self.reader = reader_of(self.tokenizer, self.limit, self.prompt, prepare, items)
                self._tried = True
            return (items, self.lengths(items)) if self.reader is None else self.reader(items)

    def lengths(self, items: Sequence[Item]) -> Ints:
        pairs = [item if isinstance(item, tuple) else (item, None) for item in items]
        first = [self.prompt + a for a, _ in pairs]
        second = [b for _, b in pairs if b is not None]
        if not callable(self.tokenizer):  # that of static vectors
            return static_lengths(self.tokenizer, first)
        # Only counted here: how the model is to cut must not be changed.
        with READING:
            coded = self.tokenizer(
                first,
                second or None,
                truncation=False,
                padding=False,
                verbose=False,
                return_attention_mask=False,
                return_token_type_ids=False,
            )
        return np.fromiter(map(len, coded["input_ids"]), np.int64, len(items))


class SentenceModel(Tokenized):
    """A model of sentence-transformers: dense, late, sparse or cross by its kind."""

    def __init__(self, model: Any, kind: Kind, side: Side, settings: AdapterSettings) -> None:
        self._kind = kind
        # A cross-encoder reads both sides at once.
        self._task = {} if kind == "cross" else {"task": settings.task or side}
        prompt, limit = settings.prompt, settings.limit
        if prompt is None:
            prompt = own_prompt(model, side)
        reader = reading_part(model, kind, side)
        longest = min(
            (position_limit(part) for part, _ in loading.transformers_in(reader)), default=None
        )
        if limit is not None:
            check_length(limit, longest)
            set_limit(reader, kind, side, limit)
        else:
            limit = own_limit(reader, kind, side)
            if limit is not None and longest is not None and limit > longest:
                limit = longest
                set_limit(reader, kind, side, limit)
        tokenizer = reader.tokenizer
        # A model that cuts nothing need not be able to.
        if settings.cut is not None and limit is not None:
            tokenizer = cutting_tokenizer(tokenizer, settings.cut, prompt or "")
            # The model in memory is that of other texts too.
            model = with_tokenizer(model, reader, tokenizer)
        super().__init__(model, tokenizer, settings.device, prompt, limit)
        self._asked = prompt

    @property
    def similarity(self) -> str | None:
        return getattr(self._model, "similarity_fn_name", None)

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        import torch

        with torch.inference_mode():
            features, _ = self._features(items)
            return OUTPUTS[self._kind](shortened(features, self._model))

    def prepared(self, items: Sequence[Item]) -> Any:
        """Returns a batch as the model reads it."""
        with READING:
            return self._model.preprocess(list(items), prompt=self._asked, **self._task)

    def states(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Returns (n, t, d) vectors of tokens, and (n, t) which of them are not padding.

        Raises:
            InputError: the model makes a vector of a text without those of its tokens.
        """
        import torch

        with torch.inference_mode():
            features, mask = self._features(texts)
            if mask is None or "token_embeddings" not in features:
                raise InputError(
                    "this model makes no vectors of tokens", remedy="a model with a transformer"
                )
            return features["token_embeddings"], mask

    def _features(self, items: Sequence[Item]) -> tuple[dict[str, Any], Any]:
        """Returns the model's output for a batch, and the mask of its padding."""
        from sentence_transformers.util import batch_to_device

        if self.reader is not None and isinstance(items[0], Tokens):
            features = self.reader.features(items, self.device)
        else:
            features = self.prepared(items)
        mask = features.get("attention_mask")
        if mask is not None:  # a pooling may take the prompt out of it
            mask = mask.bool().to(self.device)
        return self._model(batch_to_device(features, self.device), **self._task), mask


class Plain(Tokenized):
    """A plain transformer, whose token vectors are pooled here.

    DPR's encoders (Karpukhin et al. 2020) are loaded by the class that their configuration names:
    the automatic one takes every DPR for a question encoder.
    """

    similarity: str | None = None

    def __init__(
        self,
        model: Any,
        pooling: str,
        device: str,
        prompt: str | None,
        limit: int | None,
        cut: Cut | None = None,
    ) -> None:
        if pooling not in POOLINGS:
            raise InputError(
                f"no pooling {pooling!r}",
                remedy=f"{did_you_mean(pooling, POOLINGS)}there are {', '.join(POOLINGS)}",
            )
        longest = position_limit(model)
        check_length(limit, longest)
        tokenizer = model.tokenizer
        if cut is not None:
            tokenizer = cutting_tokenizer(tokenizer, cut, prompt or "")
        super().__init__(model, tokenizer, device, prompt, limit or longest)
        self._pool = POOLINGS[pooling]
        if pooling == "mask" and self.tokenizer.mask_token_id is None:
            raise InputError("pooling=mask needs a model with a mask token")

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        output, batch = self._output(items)
        return dense_rows(self._pool(output, batch, self.tokenizer.mask_token_id))

    def states(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Returns (n, t, d) vectors of tokens, and (n, t) which of them are not padding."""
        output, batch = self._output(texts)
        return output.last_hidden_state, batch["attention_mask"].bool()

    def prepared(self, items: Sequence[Item]) -> Any:
        """Returns a batch as the model reads it."""
        texts = [self.prompt + str(item) for item in items]
        with READING:
            return self.tokenizer(
                texts, padding=True, truncation=True, max_length=self.limit, return_tensors="pt"
            )

    def _output(self, items: Sequence[Item]) -> tuple[Any, Any]:
        """Returns the transformer's output for a batch, and the batch."""
        import torch

        if self.reader is not None and isinstance(items[0], Tokens):
            batch: Any = self.reader.features(items, self.device)
        else:
            batch = self.prepared(items).to(self.device)
        with torch.inference_mode():
            # DPR's gives a tuple unless asked
            return self._model(**batch, return_dict=True), batch


class Averaged:
    """SIM: the mean of a text's subword vectors; see `irtoolkit.models.sim`."""

    device: str = "cpu"
    limit: int | None = None
    similarity: str | None = "cosine"
    separator: str | None = None

    def __init__(self, folder: str) -> None:
        from irtoolkit.models import sim

        self._sim = sim.load_sim(folder)

    def lengths(self, items: Sequence[Item]) -> Ints:
        return np.array([len(ids) for ids in self._sim.tokenize([str(i) for i in items])], np.int64)

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        return [(vector,) for vector in self._sim.encode([str(item) for item in items])]

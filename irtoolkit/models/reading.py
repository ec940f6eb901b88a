"""Tokenization ahead of a GPU: each text is read once, without padding.

The libraries' own way makes lists of Python numbers of every batch, and a text's length has to be
known before its batch is; on a GPU that takes longer than the model. Here the tokenizer itself is
called, with many texts in all threads at once. It is used if it reads a sample of the texts as the
model does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.models.outputs import on_device
from irtoolkit.models.packed import with_layout

# What a transformer reads of each token.
_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
# Texts that are read both ways: the first, the shortest, the longest.
_COMPARED = 4


class Tokens(NamedTuple):
    """A text as a model reads it.

    Attributes:
        ids: (t,) its tokens, after it was cut.
        types: (t,) which of two texts each is of.
    """

    ids: NDArray[np.int32]
    types: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Reader:
    """A tokenizing reader of texts for a model.

    Attributes:
        whole: the tokenizer, without truncation.
        cutting: the same, with truncation at the model's limit.
        limit: tokens after which a text is cut.
        behind: number of tokens after each text, even a truncated one.
        prompt: text put before each text.
        padding: number of the token that fills a batch.
        rest: the model's other inputs, the same for all texts.
        typed: whether it reads token types.
    """

    whole: Any
    cutting: Any
    limit: int | None
    behind: int
    prompt: str
    padding: int
    rest: dict[str, Any]
    typed: bool

    def __call__(self, items: Sequence[Any]) -> tuple[list[Tokens], Ints]:
        """Returns the tokens of texts or pairs, and (n,) the number of tokens of each, uncut."""
        items = [
            (self.prompt + item[0], item[1]) if isinstance(item, tuple) else self.prompt + item
            for item in items
        ]
        coded = self.whole.encode_batch_fast(items)
        lengths = np.fromiter(map(len, coded), np.int64, len(items))
        longer: list[int] = []
        if self.limit is not None:
            longer = np.flatnonzero(lengths > self.limit).tolist()
            # Which of two texts is cut, the tokenizer knows.
            pairs = [i for i in longer if isinstance(items[i], tuple)]
            again = self.cutting.encode_batch_fast([items[i] for i in pairs])
            for position, tokens in zip(pairs, again, strict=True):
                coded[position] = tokens
        ids = _arrays([tokens.ids for tokens in coded])
        types = _arrays([tokens.type_ids if self.typed else () for tokens in coded])
        for position in longer:
            ids[position], types[position] = self.cut(ids[position]), self.cut(types[position])
        return [Tokens(*columns) for columns in zip(ids, types, strict=True)], lengths

    def cut(self, tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """Returns a text's tokens without those beyond the limit; tokens after each text stay."""
        if self.limit is None or len(tokens) <= self.limit:
            return tokens
        tokens_kept = tokens[: self.limit].copy()
        if self.behind:
            tokens_kept[-self.behind :] = tokens[-self.behind :]
        return tokens_kept

    def features(self, texts: Sequence[Tokens], device: str) -> dict[str, Any]:
        """Returns a batch as the model reads it, on a device."""
        counts = np.fromiter((len(text.ids) for text in texts), np.int64, len(texts))
        mask = np.arange(counts.max(initial=1)) < counts[:, None]

        def filled(parts: list[NDArray[np.int32]], empty: int) -> Any:
            tensor = np.full(mask.shape, empty, np.int64)
            tensor[mask] = np.concatenate(parts)
            return on_device(tensor, device)

        arrays = {
            _IDS: filled([text.ids for text in texts], self.padding),
            _MASK: with_layout(on_device(mask.astype(np.int64), device), mask),
        }
        if self.typed:
            arrays[_TYPES] = filled([text.types for text in texts], 0)
        return {**self.rest, **arrays}


def reader_of(
    tokenizer: Any,
    limit: int | None,
    prompt: str,
    prepare: Callable[[list[Any]], Any],
    items: Sequence[Any],
) -> Reader | None:
    """Returns a reader that tokenizes texts as a model does, or None if the model does it differently.

    Args:
        tokenizer: the model's.
        limit, prompt: the model's.
        prepare: makes a batch as the model itself does.
        items: texts, some of which are read both ways.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not hasattr(backend, "encode_batch_fast") or not items or tokenizer.pad_token_id is None:
        return None
    if getattr(tokenizer, "truncation_side", "right") != "right":
        return None
    order = sorted(range(len(items)), key=lambda i: len(str(items[i])))
    chosen = {*range(min(len(items), _COMPARED)), *order[:_COMPARED], *order[-_COMPARED:]}
    sample = [items[i] for i in sorted(chosen)]
    features = prepare(sample)
    tensors = {name for name, value in features.items() if hasattr(value, "shape")}
    if not {_IDS, _MASK} <= tensors <= {_IDS, _MASK, _TYPES}:
        return None
    rest = {name: value for name, value in features.items() if name not in tensors}
    whole, cutting = _copy(backend, None), _copy(backend, limit)
    reader = Reader(
        whole,
        cutting,
        limit,
        _behind(whole),
        prompt,
        tokenizer.pad_token_id,
        rest,
        _TYPES in tensors,
    )
    long = "a b " * (limit or 0)
    if reader.cut(np.array(whole.encode(long).ids, np.int32)).tolist() != cutting.encode(long).ids:
        return None
    first_features = reader.features(reader(sample)[0], "cpu")
    same = all(
        features[name].shape == first_features[name].shape
        and bool((features[name] == first_features[name]).all())
        for name in tensors
    )
    return reader if same else None


def _behind(whole: Any) -> int:
    """Returns the number of special tokens after each text."""
    special = whole.encode("a").special_tokens_mask
    return next((count for count, is_special in enumerate(reversed(special)) if not is_special), 0)


def _arrays(lists: Sequence[Sequence[int]]) -> list[NDArray[np.int32]]:
    """Converts lists of numbers to arrays, all at once."""
    bounds = np.cumsum([len(row) for row in lists])
    flat = np.fromiter(chain.from_iterable(lists), np.int32, int(bounds[-1]) if len(lists) else 0)
    return np.split(flat, bounds[:-1])


def _copy(backend: Any, limit: int | None) -> Any:
    """Returns a copy of a tokenizer without padding that truncates after so many tokens."""
    from tokenizers import Tokenizer

    copied = Tokenizer.from_str(backend.to_str())
    copied.no_padding()
    copied.no_truncation()
    if limit is not None:
        copied.enable_truncation(limit)
    return copied

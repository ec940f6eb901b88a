"""Modules of sentence-transformers for Transform (Wang et al. 2021), a baseline of QuoteR.

Contexts are encoded by a Transformer over the words of each turn and a GRU over the turns, and are
mapped to the space of quotes, which another Transformer encodes. A linear layer over the mapped
context, its similarity to each quote and its mapped query turn scores all quotes. This layer is part
of the quotes' vectors here, so that a score is a dot product.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import InputModule, Module
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of

_DOCUMENTS = "documents.json"
# Quotes that are encoded at once.
_CHUNK = 256


class TurnTransformer(nn.Module):
    """A Transformer whose output at an added first token is the vector of a text.

    As in the authors' code, words have no positions.
    """

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, heads, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Returns (n, d) vectors of texts.

        Args:
            words: (n, t, d) vectors of words.
            mask: (n, t) whether a word is part of the text.
        """
        count = len(words)
        begun = torch.cat([self.first.expand(count, 1, -1), words], dim=1)
        hidden = torch.cat([mask.new_zeros(count, 1), ~mask], dim=1)
        output: Tensor = self.layers(begun, src_key_padding_mask=hidden)[:, 0]
        return output


class _QuoteEncoder:
    """The common part of the two encoders, whose vectors have a part for each term of a score."""

    def get_embedding_dimension(self: Any) -> int:
        return 2 * int(self.width) + 1

    def save(
        self: Any, output_path: str, *_: Any, safe_serialization: bool = True, **__: Any
    ) -> None:
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)


class ContextTransformer(_QuoteEncoder, Module):  # type: ignore[misc]
    """The vector of a context: its turns, mapped to the space of quotes, and 1.

    The turns are the texts on both sides of a separator. The first is the query turn, which the
    quote follows.

    Args:
        width: size of word vectors and of all states.
        heads, layers: of the Transformer.
        separator: number of the separator in the vocabulary.
    """

    config_keys = ["width", "heads", "layers", "separator"]  # noqa: RUF012 as in the library

    def __init__(self, width: int, heads: int, layers: int, separator: int) -> None:
        super().__init__()
        self.width, self.heads, self.layers, self.separator = width, heads, layers, separator
        self.turns = TurnTransformer(width, heads, layers)
        self.context = nn.GRU(width, width // 2, bidirectional=True, batch_first=True)
        self.mapping = nn.Linear(width, width)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        ids, mask = features["input_ids"], features["attention_mask"].bool()
        parting = ids == self.separator
        after = parting.int().cumsum(1) > 0
        sides = torch.cat([mask & ~after, mask & after & ~parting])
        words = features["token_embeddings"].repeat(2, 1, 1)
        first, two = self.turns(words, sides).chunk(2)
        # A context without a text after the separator has one turn.
        lengths = 1 + sides[len(ids) :].any(1).int().cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            torch.stack([first, two], dim=1), lengths, batch_first=True, enforce_sorted=False
        )
        _, ends = self.context(packed)
        whole, query = self.mapping(torch.cat([*ends], dim=1)), self.mapping(first)
        features["mapped"] = query
        features["sentence_embedding"] = torch.cat([whole, query, query.new_ones(len(query), 1)], 1)
        return features

    @classmethod
    def load(cls, model_name_or_path: str, **options: Any) -> Any:
        where = _where(options)
        loaded = cls(**cls.load_config(model_name_or_path, **where))
        return cls.load_torch_weights(model_name_or_path, model=loaded, **where)


class _WholeTexts:
    """A tokenizer whose tokens are whole texts."""

    def tokenize(self, text: str) -> list[str]:
        return [text]


class QuoteTransformer(_QuoteEncoder, InputModule):  # type: ignore[misc]
    """The vectors of the quotes that a model knows: their part in scoring, for `ContextTransformer`.

    Args:
        width, heads, layers: see `ContextTransformer`.
        vocabulary: number of words.
        words: number of words of the longest quote.
        names: a hash of each quote; see `name_of`.
    """

    config_keys = ["width", "heads", "layers", "vocabulary", "words"]  # noqa: RUF012
    modalities = ["text"]  # noqa: RUF012 as in the library

    def __init__(
        self, width: int, heads: int, layers: int, vocabulary: int, words: int, names: Sequence[str]
    ) -> None:
        super().__init__()
        self.width, self.heads, self.layers = width, heads, layers
        self.vocabulary, self.words, self.names = vocabulary, words, list(names)
        self.max_seq_length = words
        self._rows = {name: row for row, name in enumerate(self.names)}
        count = len(self.names)
        self.vectors = nn.Embedding(vocabulary, width)
        self.quotes = TurnTransformer(width, heads, layers)
        self.score = nn.Linear(2 * width + count, count)
        self.register_buffer("ids", torch.zeros(count, words, dtype=torch.long))
        self.tokenizer = _WholeTexts()
        self._known: Tensor | None = None

    @staticmethod
    def name_of(text: str) -> str:
        """Returns a hash of a text."""
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> Any:
        rows = [self._rows.get(self.name_of((prompt or "") + str(text)), -1) for text in inputs]
        if -1 in rows:
            text = str(inputs[rows.index(-1)])
            raise InputError(
                f"the model scores the {number_of(len(self.names), 'documents')} that it was trained with, and"
                f" {text[:60]!r} is none of them",
                remedy="train it on a dataset with these candidates",
            )
        ids = torch.tensor(rows)[:, None]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def train(self, mode: bool = True) -> Any:
        self._known = None
        return super().train(mode)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        rows, encoded = features["input_ids"][:, 0], self._encoded()
        weight, width = self.score.weight[rows], self.width
        query = weight[:, 2 * width :] @ encoded + weight[:, width : 2 * width]
        features["mapped"] = encoded[rows]
        features["sentence_embedding"] = torch.cat(
            [weight[:, :width], query, self.score.bias[rows, None]], dim=1
        )
        return features

    def _encoded(self) -> Tensor:
        """Returns (quotes, d) vectors of all quotes; cached outside training."""
        # What inference has computed has no gradient, and cannot be part of one.
        if self._known is not None and not torch.is_grad_enabled():
            return self._known
        parts = []
        for begin in range(0, len(self.ids), _CHUNK):
            ids = self.ids[begin : begin + _CHUNK]
            ids = ids[:, : max(1, int((ids > 0).sum(1).max()))]
            parts.append(checkpoint(self._encode, ids, use_reentrant=False))
        encoded = torch.cat(parts)
        if not self.training and not torch.is_grad_enabled():
            self._known = encoded
        return encoded

    def _encode(self, ids: Tensor) -> Tensor:
        encoded: Tensor = self.quotes(self.vectors(ids), ids > 0)
        return encoded

    def save(self, output_path: str, *args: Any, **options: Any) -> None:
        super().save(output_path, *args, **options)
        (Path(output_path) / _DOCUMENTS).write_text(json.dumps(self.names), "utf-8")

    @classmethod
    def load(cls, model_name_or_path: str, **options: Any) -> Any:
        where = _where(options)
        path = cls.load_file_path(model_name_or_path, _DOCUMENTS, **where)
        if path is None:
            raise InputError(f"no {_DOCUMENTS} in {model_name_or_path}")
        names = json.loads(Path(path).read_text("utf-8"))
        loaded = cls(**cls.load_config(model_name_or_path, **where), names=names)
        return cls.load_torch_weights(model_name_or_path, model=loaded, **where)


def _where(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the keywords for the location of a module's files."""
    names = ("subfolder", "token", "cache_folder", "revision", "local_files_only")
    return {name: options[name] for name in names if name in options}

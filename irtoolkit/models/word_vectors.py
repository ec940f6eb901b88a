"""Vectors of words as the first module of an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentence_transformers.sentence_transformer.modules import WordEmbeddings


class WordVectors(WordEmbeddings):  # type: ignore[misc]
    """Vectors of words for one of two encoders.

    The library's own class passes all its arguments to its tokenizer, which refuses the side of a
    text from a Router.
    """

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> Any:
        features = super().preprocess(list(map(str, inputs)), prompt=prompt)
        # A text without a word has an unknown one: of none there is no last state, nor a greatest.
        empty = features["sentence_lengths"] == 0
        features["input_ids"][empty, 0] = self.tokenizer.tokenizer.unk_token_id
        features["attention_mask"][empty, 0] = 1
        features["sentence_lengths"][empty] = 1
        return features

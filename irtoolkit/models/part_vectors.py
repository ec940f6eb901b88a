"""Vectors of the sentences or tokens of a text that is read as a whole."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.models.adapters import READING, Item, Plain, SentenceModel
from irtoolkit.models.presets import Side
from irtoolkit.models.shards import Output

PartUnit = Literal["sentences", "tokens"]
# Where a token begins and ends in its text; an empty span of a special token.
_Place = tuple[int, int]


def with_spans(pieces: Sequence[str], chosen: Sequence[bool], joiner: str, first: str) -> Item:
    """Returns pieces as one text, with the character spans of the chosen ones.

    Args:
        pieces: sentences, say; at least one.
        chosen: which of them get a vector.
        joiner: text between two pieces.
        first: text between the first and the second piece.
    """
    text, spans = pieces[0], [(0, len(pieces[0]))]
    for number, piece in enumerate(pieces[1:]):
        text += joiner if number else first
        spans.append((len(text), len(text) + len(piece)))
        text += piece
    return text, " ".join(
        f"{begin}-{end}" for (begin, end), is_chosen in zip(spans, chosen, strict=True) if is_chosen
    )


class PartVectors:
    """A dense model whose token vectors are averaged in each sentence, or used as they are.

    An item of sentences is a text with the spans of those that get a vector, from `with_spans`. A
    sentence that is cut off with the end of its text has no vector. A document with no sentence
    left, and a text without a token of its own, has the mean of all that the model reads, special
    tokens included.

    An item of tokens is a text. Their vectors are scaled to length 1. Special tokens have none,
    unless the text has no others.

    Args:
        model: a dense model.
        unit: the parts that get a vector.
        side: whether texts are queries or documents.
        punctuation: whether tokens of punctuation alone get a vector.
    """

    def __init__(
        self, model: SentenceModel | Plain, unit: PartUnit, side: Side, punctuation: bool = True
    ) -> None:
        if not getattr(model.tokenizer, "is_fast", False):
            raise InputError(
                "this model's tokenizer does not tell where its tokens are in a text",
                remedy="a model with a tokenizer.json",
            )
        self._model, self._unit, self._side = model, unit, side
        self._punctuation = punctuation
        self.device, self.limit = model.device, model.limit
        self.separator, self.similarity = model.separator, model.similarity

    def lengths(self, items: Sequence[Item]) -> Ints:
        return self._model.lengths([_text(item) for item in items])

    def __call__(self, items: Sequence[Item]) -> list[Output]:
        texts = [_text(item) for item in items]
        states, mask = self._model.states(texts)
        places = self._places(texts)
        if mask.sum(1).tolist() != [len(row) for row in places]:
            raise InputError(
                "this model reads other tokens than its tokenizer makes of a text",
                remedy="a model without a chat template",
            )
        if self._unit == "tokens":
            return self._tokens(texts, places, states, mask)
        return self._sentences(items, places, states, mask)

    def _places(self, texts: Sequence[str]) -> list[list[_Place]]:
        """Returns the positions in each text of the tokens that the model reads.

        The prompt's are negative.
        """
        prompt, limit = self._model.prompt, self.limit
        cut = {"truncation": False} if limit is None else {"truncation": True, "max_length": limit}
        with READING:
            coded = self._model.tokenizer(
                [prompt + text for text in texts],
                padding=False,
                verbose=False,
                return_offsets_mapping=True,
                **cut,
            )
        skip = len(prompt)
        return [
            [(begin - skip, end - skip) for begin, end in row] for row in coded["offset_mapping"]
        ]

    def _tokens(
        self, texts: Sequence[str], places: list[list[_Place]], states: Any, mask: Any
    ) -> list[Output]:
        import torch

        with torch.inference_mode():
            scaled = torch.nn.functional.normalize(states.float(), dim=-1).cpu().numpy()
        rows: list[Output] = []
        for text, spans, state, real in zip(texts, places, scaled, mask.cpu().numpy(), strict=True):
            mask_kept = np.array([self._keeps(text, begin, end) for begin, end in spans])
            rows.append((state[real][mask_kept if mask_kept.any() else slice(None)],))
        return rows

    def _keeps(self, text: str, begin: int, end: int) -> bool:
        """Returns whether a token gets a vector."""
        if end <= begin or begin < 0:
            return False
        return self._punctuation or not all(map(_is_punctuation, text[begin:end]))

    def _sentences(
        self, items: Sequence[Item], places: list[list[_Place]], states: Any, mask: Any
    ) -> list[Output]:
        import torch

        weights = [self._weights(item, row) for item, row in zip(items, places, strict=True)]
        shape = (len(items), max(map(len, weights)), mask.shape[1])
        averaging = np.zeros(shape, np.float32)
        for number, (row, real) in enumerate(zip(weights, mask.cpu().numpy(), strict=True)):
            averaging[number, : len(row), real] = row.T
        with torch.inference_mode():
            weights_tensor = torch.from_numpy(averaging).to(states.device)
            means = torch.bmm(weights_tensor, states.float()).cpu().numpy()
        return [(mean[: len(row)],) for mean, row in zip(means, weights, strict=True)]

    def _weights(self, item: Item, places: list[_Place]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """(s, t) the share of each token in the vector of each sentence that has one."""
        spans = np.array([span.split("-") for span in item[1].split()], np.int64).reshape(-1, 2)
        last = np.array([end - 1 if end > begin else -1 for begin, end in places])
        # A token may begin with the space before it, but it ends in its sentence.
        inside = (spans[:, :1] <= last) & (last < spans[:, 1:])
        counts = inside.sum(axis=1)
        if not counts.any():
            if self._side == "query" and len(spans) and (spans[:, 0] < spans[:, 1]).any():
                raise InputError(
                    f"what is compared of the query {item[0][:60]!r} is not among the"
                    f" {self.limit} tokens that the model reads of it",
                    remedy="set query_length higher, or query_cut=start",
                )
            return np.full((1, len(places)), 1 / len(places), np.float32)
        found = counts > 0
        shares: np.ndarray[Any, np.dtype[np.float32]] = inside[found] / counts[found, None]
        return shares.astype(np.float32)


def _text(item: Item) -> str:
    return item if isinstance(item, str) else item[0]


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")

"""Vectors of the words of quotes with the quotes' topics and authors (NNQR, a baseline of QuoteR)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, read_lines
from irtoolkit.models.word_vectors import WordVectors

_ABOUT = "about.json"
# Standard deviation of the first vectors of topics and authors.
_DEVIATION = 0.1


def read_about(path: StrPath) -> dict[str, list[str]]:
    """Returns the topics and the author of each quote in a file.

    A line is a quote, a tab, its topics separated by semicolons, and perhaps a tab and its author.
    Topics or author may be empty.

    Returns:
        The text of each quote, in lower case, to names such as "topic: love" and "author: plato".
        Lines of one quote are taken together.

    Raises:
        InputError: a line has another number of columns, or the file has no quote.
    """
    names_of_text: dict[str, list[str]] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        quote, *columns = (part.strip() for part in line.split("\t"))
        if not quote or not 1 <= len(columns) <= 2:
            raise InputError(
                "not a quote, its topics and its author",
                file=path,
                line=number,
                remedy="quote<TAB>topic; topic<TAB>author",
            )
        topics = [f"topic: {name.strip()}" for name in columns[0].split(";") if name.strip()]
        author = [f"author: {name}" for name in columns[1:] if name]
        names_of_text.setdefault(quote.lower(), []).extend([*topics, *author])
    if not names_of_text:
        raise InputError("a file without a quote", file=path)
    return {quote: list(dict.fromkeys(names)) for quote, names in names_of_text.items()}


class QuoteWords(WordVectors):
    """Word vectors plus the mean vector of a text's topics and author.

    Args:
        names_of: the names of the topics and the author of each text, compared in lower case; other
            texts have none.
    """

    def __init__(
        self,
        tokenizer: Any,
        embedding_weights: Any,
        *,
        names_of: Mapping[str, Sequence[str]],
        **options: Any,
    ) -> None:
        super().__init__(tokenizer, embedding_weights, **options)
        self.about = {text.lower(): list(names) for text, names in names_of.items()}
        names = dict.fromkeys(name for name_list in self.about.values() for name in name_list)
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self.topics = nn.EmbeddingBag(
            len(names) + 1, self.embeddings_dimension, mode="mean", padding_idx=0
        )
        nn.init.normal_(self.topics.weight, std=_DEVIATION)
        with torch.no_grad():
            self.topics.weight[0] = 0

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **options: Any) -> Any:
        features = super().preprocess(inputs, prompt=prompt, **options)
        owned = [self.about.get(str(text).lower(), ()) for text in inputs]
        rows = [[self._numbers[name] for name in names] for names in owned]
        width = max(1, *map(len, rows)) if rows else 1
        features["about"] = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        return features

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        output: dict[str, Any] = super().forward(features, **options)
        added = self.topics(features["about"])[:, None]
        output["token_embeddings"] = output["token_embeddings"] + added
        return output

    def save(self, output_path: str, *args: Any, **more: Any) -> None:
        super().save(output_path, *args, **more)
        (Path(output_path) / _ABOUT).write_text(json.dumps(self.about), "utf-8")

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Any:
        names = ("token", "cache_folder", "revision", "local_files_only")
        where = {
            "subfolder": subfolder,
            **{name: options[name] for name in names if name in options},
        }
        path = cls.load_file_path(model_name_or_path, _ABOUT, **where)
        if path is None:
            raise InputError(f"no {_ABOUT} in {model_name_or_path}")
        plain = WordVectors.load(model_name_or_path, subfolder=subfolder, **options)
        loaded = cls(
            plain.tokenizer,
            plain.emb_layer.weight.detach(),
            names_of=json.loads(Path(path).read_text("utf-8")),
            update_embeddings=plain.update_embeddings,
            max_seq_length=plain.max_seq_length,
        )
        weights = cls.load_torch_weights(model_name_or_path, **where)
        loaded.load_state_dict(weights)
        return loaded

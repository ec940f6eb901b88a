"""Training of a linear map of queries alone, on top of a frozen encoder.

A query's vector q becomes q + Wq, where W begins as zero: the map begins as the identity, and
weight decay draws it there. Documents keep their vectors, so their index need not be rebuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Router
from sentence_transformers.base.modules.input_module import InputModule
from sentence_transformers.base.modules.module import Module

from irtoolkit.base.errors import InputError
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.limits import own_prompt
from irtoolkit.models.presets import Side
from irtoolkit.training.base_checkpoint import SIDES
from irtoolkit.training.base_model import build_model
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.trained_model import TrainedForm

# The map of a checkpoint.
_MAP = "map.safetensors"


class KnownVectors(InputModule):  # type: ignore[misc]
    """A frozen encoder's vectors of texts, each computed once and stored in the vector store.

    Args:
        encoder: the encoder of one side.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self._encoder = encoder
        self._place: dict[str, int] = {}
        self._vectors: list[np.ndarray[Any, Any]] = []
        self.tokenizer = None

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> Any:
        """Returns the vectors of texts; the encoder has its own prompt."""
        texts = [str(text) for text in inputs]
        new = [text for text in dict.fromkeys(texts) if text not in self._place]
        if new:
            self._place |= {text: len(self._place) + i for i, text in enumerate(new)}
            self._vectors.extend(self._encoder.encode(new, count=len(new)).vectors())
        vectors = np.stack([self._vectors[self._place[text]] for text in texts])
        return {"sentence_embedding": torch.from_numpy(vectors.astype(np.float32))}

    def forward(self, features: Any, **_: Any) -> Any:
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Saves nothing: the vectors are in the store."""


class QueryMap(Module):  # type: ignore[misc]
    """The map of queries: a vector and a linear function of it, which begins as zero."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = torch.nn.Linear(width, width, bias=False)
        torch.nn.init.zeros_(self.change.weight)

    def forward(self, features: Any, **_: Any) -> Any:
        vectors = features["sentence_embedding"]
        features["sentence_embedding"] = vectors + self.change(vectors)
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Saves nothing: `MappedForm` does."""


class MappedForm:
    """The model of a recipe with `query_map` in training, as `TrainedForm` is for others.

    Args:
        recipe: the recipe.
        device: of this process.
        texts: queries and documents of the training set, whose vectors are computed at once.

    Attributes:
        model: known vectors and the map, which is trained.
        sharded, adapted: as in `TrainedForm`; the map alone is in a checkpoint.

    Raises:
        InputError: the base model has an encoder for each side, or a truncate_dim.
    """

    sharded, adapted = False, True

    def __init__(
        self, recipe: Recipe, device: str, texts: tuple[Sequence[str], Sequence[str]]
    ) -> None:
        self._base, self._device = build_model(recipe, recipe.seed, "cpu"), device
        if isinstance(self._base[0], Router) or self._base.truncate_dim is not None:
            raise InputError(
                f"query_map=true: {recipe.start} has an encoder for each side, or cuts its vectors",
                remedy="start from a model with one encoder, whose vectors are whole",
            )
        encoders = [KnownVectors(_encoder(recipe, side, device)) for side in ("query", "document")]
        for module, side_texts in zip(encoders, texts, strict=True):
            module.preprocess(list(dict.fromkeys(side_texts)))
        width = len(encoders[0].preprocess([""])["sentence_embedding"][0])
        self._map = QueryMap(width)
        self.model = SentenceTransformer(
            modules=[Router.for_query_document([encoders[0], self._map], [encoders[1]])],
            device=device,
            similarity_fn_name=self._base.similarity_fn_name,
        )

    def pack(self, recipe: Recipe) -> None:
        """Does nothing: vectors have no padding."""

    def measured(self, saved: Any) -> Any:
        """Returns the model to evaluate instead of the saved one, with the same vectors, faster."""
        return self.model

    def saved(self) -> Any:
        """Returns the base model with the map upon its queries."""
        weight = self._map.change.weight.detach().cpu()
        width = len(weight)
        dense = Dense(width, width, bias=False, activation_function=torch.nn.Identity())
        with torch.no_grad():
            dense.linear.weight.copy_(torch.eye(width) + weight)
        shared = list(self._base)
        base = self._base
        return SentenceTransformer(
            modules=[Router.for_query_document([*shared, dense], shared)],
            device=self._device,
            similarity_fn_name=base.similarity_fn_name,
            prompts={side: own_prompt(base, side) or "" for side in SIDES},
        )

    def save(self, folder: str) -> None:
        """Saves the map."""
        from safetensors.torch import save_file

        Path(folder).mkdir(parents=True, exist_ok=True)
        save_file({"change": self._map.change.weight.detach().cpu()}, Path(folder) / _MAP)

    def load(self, folder: str) -> None:
        """Takes the map of a checkpoint."""
        from safetensors.torch import load_file

        with torch.no_grad():
            self._map.change.weight.copy_(load_file(Path(folder) / _MAP)["change"])


# How a model is held in training.
Form = TrainedForm | MappedForm


def _encoder(recipe: Recipe, side: Side, device: str) -> Encoder:
    """Returns the encoder of one side of the base model, as retrieval has it."""
    return Encoder(
        EncoderSettings(
            recipe.start,
            "dense",
            side,
            device=device,
            pooling=None if recipe.pooling == "own" else recipe.pooling,
            precision=recipe.precision,
            length=recipe.query_length if side == "query" else recipe.doc_length,
            trusted=bool(recipe.trust_remote_code),
        )
    )

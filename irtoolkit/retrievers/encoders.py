"""Sentence-transformers models: by preset, path or hub id; found, loaded and applied."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.errors import InputError, needs_extra
from irtoolkit.files import sha256
from irtoolkit.retrievers.task import Segments

# A cached configuration alone is no model.
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
PRESETS = Path(__file__).with_name("models.toml")


@dataclass(frozen=True)
class Preset:
    """What is known of a published encoder; see models.toml."""

    id: str
    package: str | None = None
    pooling: str | None = None
    join: str = " "
    paper: str = ""
    licence: str = ""
    unpublished: str = ""


@cache
def presets() -> dict[str, Preset]:
    """Presets by name."""
    data = tomllib.loads(PRESETS.read_text("utf-8"))
    return {name: Preset(**fields) for name, fields in data.items()}


class Encoder:
    """A model that turns texts into vectors.

    Args:
        name: a preset, a folder, or a hub id.
        batch_size: texts encoded at once.
        device: a torch device; by default a GPU when there is one.

    Raises:
        InputError: the libraries or the weights are not here; says how to provide them.
    """

    def __init__(self, name: str, batch_size: int = 32, device: str | None = None) -> None:
        problem = missing(name)
        if problem is not None:
            raise InputError(problem)
        self.preset = presets().get(name, Preset(name))
        self._model = _load(self.preset, device)
        self._batch_size = batch_size

    def texts(self, texts: Sequence[Segments]) -> list[str]:
        """Each text's segments joined as the model wants them."""
        join = self.preset.join
        if join == "sep":
            join = self._model.tokenizer.sep_token
        return [join.join(segments) for segments in texts]

    def encode(self, texts: Sequence[str], progress: bool = True) -> NDArray[np.float32]:
        """(texts, dimensions) float32 vectors; equal texts are encoded once.

        A text longer than the model takes is cut to its first tokens.
        """
        distinct = list(dict.fromkeys(texts))
        at = {text: i for i, text in enumerate(distinct)}
        vectors = self._model.encode(
            distinct, batch_size=self._batch_size, convert_to_numpy=True,
            show_progress_bar=progress and os.isatty(2),
        )  # fmt: skip
        rows: NDArray[np.float32] = np.asarray(vectors, np.float32)[[at[text] for text in texts]]
        return rows


def missing(name: str) -> str | None:
    """What keeps a model from being loaded here, or None. Fetches nothing."""
    if find_spec("sentence_transformers") is None:
        return str(needs_extra("sentence-transformers", "neural"))
    preset = presets().get(name, Preset(name))
    if _location(preset) is not None:
        return None
    if preset.unpublished:
        return f"nobody has published the weights of {name}: {preset.unpublished}"
    if os.environ.get("HF_HUB_OFFLINE") != "1" and os.environ.get("IRTOOLKIT_DOWNLOAD") == "1":
        return None
    return (
        f"the weights of {preset.id} are not here: run `hf download {preset.id}`, set"
        " IRTOOLKIT_DOWNLOAD=1 to let irtoolkit fetch them, or give a folder as model=PATH"
    )


def location(name: str) -> str:
    """What a library loads a model from: a folder, or a hub id."""
    preset = presets().get(name, Preset(name))
    return _location(preset) or preset.id


def fingerprint(name: str) -> str | None:
    """A hash of a model's files, or None for one that is not here."""
    location = _location(presets().get(name, Preset(name)))
    if location is None:
        return None
    folder = Path(location)
    if not folder.is_dir():  # a cached hub id: its snapshot is named by its commit
        from huggingface_hub import try_to_load_from_cache

        return Path(str(try_to_load_from_cache(str(folder), "config.json"))).parent.name
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {sha256(path)}\n".encode())
    return digest.hexdigest()


def _location(preset: Preset) -> str | None:
    """A local folder or cached hub id with the weights, or None."""
    if preset.package is not None:
        module, _, function = preset.package.partition(":")
        if find_spec(module) is not None:
            return str(getattr(import_module(module), function)())
    if Path(preset.id).is_dir():
        return preset.id
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    cached = (isinstance(try_to_load_from_cache(preset.id, name), str) for name in WEIGHTS)
    try:
        return preset.id if any(cached) else None
    except HFValidationError:  # neither a folder nor what could be a hub id
        return None


@cache
def _load(preset: Preset, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    if not os.isatty(2):
        logging.disable_progress_bar()

    location = _location(preset) or preset.id
    try:
        if preset.pooling is None:
            return SentenceTransformer(location, device=device)
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        words = Transformer(location)
        pool = Pooling(words.get_embedding_dimension(), pooling_mode=preset.pooling)
        return SentenceTransformer(modules=[words, pool], device=device)
    except Exception as error:  # each library has its own for a damaged file
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"cannot load the model {location}: {reason}") from None

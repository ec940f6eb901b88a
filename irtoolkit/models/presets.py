"""Published models by the names that papers give them, and where their weights are."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from irtoolkit.errors import InputError, needs_extra
from irtoolkit.files import sha256

Kind = Literal["dense", "late", "sparse", "cross", "writer", "weigher"]
Side = Literal["query", "document"]

# A cached configuration alone is no model.
WEIGHTS = (
    "model.safetensors", "pytorch_model.bin", "model.safetensors.index.json",
    "pytorch_model.bin.index.json", "0_StaticEmbedding/model.safetensors", "sim.pt",
)  # fmt: skip
# The classes of sentence-transformers by what they make of a text.
SAVED_AS: dict[Kind, str] = {
    "dense": "SentenceTransformer", "late": "MultiVectorEncoder", "sparse": "SparseEncoder",
    "cross": "CrossEncoder",
}  # fmt: skip
_ENDINGS: dict[str, Kind] = {
    "ForSequenceClassification": "cross", "HF_ColBERT": "late", "ForRetrieval": "late",
    "ForMaskedLM": "sparse",
}  # fmt: skip
PRESETS = Path(__file__).with_name("models.toml")


@dataclass(frozen=True)
class Preset:
    """What is known of a published model; see models.toml.

    Attributes:
        id: hub id or folder, of the document encoder where there are two.
        query: that of the query encoder, where it is another one.
        kind: what it makes of a text.
        package: a Python package that carries the weights, and its function that says where.
        pooling: how token vectors become one, where the weights are a plain transformer.
        similarity: of two vectors, as its authors compute it.
        query_prompt, doc_prompt: put before a text.
        query_length, doc_length: tokens after which a text is cut.
        join: what stands between the segments of a text; "sep" is the model's separator token.
        source: where its facts come from.
        paper: where the system stands in which paper.
        licence: of the weights, as their publisher states it.
        unpublished: what to do where the hub has no weights that can be loaded.
        note: what a user must know.
    """

    id: str
    query: str | None = None
    kind: Kind = "dense"
    package: str | None = None
    pooling: str | None = None
    similarity: Literal["cosine", "dot", "l2"] | None = None
    query_prompt: str | None = None
    doc_prompt: str | None = None
    query_length: int | None = None
    doc_length: int | None = None
    join: str = " "
    source: str = ""
    paper: str = ""
    licence: str = ""
    unpublished: str = ""
    note: str = ""

    def side(self, side: Side) -> Preset:
        """The model that encodes one side."""
        return replace(self, id=self.query or self.id, query=None) if side == "query" else self


@cache
def presets() -> dict[str, Preset]:
    """Presets by name."""
    data = tomllib.loads(PRESETS.read_text("utf-8"))
    return {name: Preset(**fields) for name, fields in data.items()}


def find(name: str) -> Preset:
    """The preset of that name; any other name is a folder or hub id of which nothing is known."""
    return presets().get(name) or Preset(name)


def missing(name: str) -> str | None:
    """What keeps a model from being loaded here, or None. Fetches nothing."""
    if not name.strip():
        return "no model is named: give a preset, a folder or a hub id as model=NAME"
    if find_spec("sentence_transformers") is None:
        return str(needs_extra("sentence-transformers", "neural"))
    preset = find(name)
    absent = [part.id for part in _parts(preset) if _location(part) is None]
    if not absent:
        return None
    if preset.unpublished:
        return f"the weights of {name} are not on the hub: {preset.unpublished}"
    if os.environ.get("HF_HUB_OFFLINE") != "1" and os.environ.get("IRTOOLKIT_DOWNLOAD") == "1":
        return None
    if absent[0].startswith((".", "/", "~")):
        return f"there is no folder {absent[0]}"
    return (
        f"the weights of {absent[0]} are not here: run `hf download {absent[0]}`, set"
        " IRTOOLKIT_DOWNLOAD=1 to let irtoolkit fetch them, or give a folder as model=PATH"
    )


def require(name: str, *kinds: Kind) -> Preset:
    """The preset of a model that can be loaded here and is of one of these kinds.

    Raises:
        InputError: it cannot, or it is known to be of another kind.
    """
    lacking = missing(name)
    if lacking is not None:
        raise InputError(lacking)
    preset = find(name)
    if name in presets() and preset.kind not in kinds:
        raise InputError(
            f"{name} is a model of kind {preset.kind}, not {' or '.join(kinds)}",
            remedy=f"models of kind {kinds[0]}: {', '.join(_of_kind(kinds[0]))}",
        )
    return preset


def place(preset: Preset) -> str:
    """What a library loads one model from: a folder, or a hub id."""
    return _location(preset) or preset.id


def kind_of(name: str, default: Kind) -> Kind:
    """The kind of a model: a preset's, or what the files of one that is here say of it."""
    if name in presets():
        return presets()[name].kind
    place = None if find_spec("sentence_transformers") is None else _location(Preset(name))
    return default if place is None else said_kind(place) or default


def said_kind(location: str) -> Kind | None:
    """What the files of a model say that it makes of a text; None where they do not say it."""
    saved = read_json(location, "config_sentence_transformers.json").get("model_type")
    if saved == "ColBERT":  # PyLate's
        return "late"
    if saved in SAVED_AS.values():
        return next(kind for kind, value in SAVED_AS.items() if value == saved)
    if read_json(location, "modules.json"):
        return "dense"
    for architecture in read_json(location, "config.json").get("architectures") or ():
        for ending, kind in _ENDINGS.items():
            if architecture.endswith(ending):
                return kind
    return None


def location(name: str) -> str:
    """What a library loads a model from: a folder, or a hub id."""
    preset = find(name)
    return _location(preset) or preset.id


def fingerprint(name: str) -> str | None:
    """A hash of a model's files, or None for one that is not here."""
    found = [_fingerprint(_location(part)) for part in _parts(find(name))]
    known = [part for part in found if part is not None]
    if len(known) < len(found):
        return None
    return known[0] if len(known) == 1 else hashlib.sha256(" ".join(known).encode()).hexdigest()


def model_file(location: str, name: str) -> Path | None:
    """A file of a model that is here, in a folder or in the hub's cache; None without it."""
    if Path(location).is_dir():
        path = Path(location) / name
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(location, name)
    return Path(found) if isinstance(found, str) else None


def read_json(location: str, name: str) -> dict[str, Any]:
    """A JSON file of a model; empty where there is none, and {"": list} where it is a list.

    Raises:
        InputError: it is not JSON.
    """
    path = model_file(location, name)
    if path is None:
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=path) from None
    return content if isinstance(content, dict) else {"": content}


def _of_kind(kind: Kind) -> list[str]:
    return [name for name, preset in presets().items() if preset.kind == kind]


def _parts(preset: Preset) -> list[Preset]:
    return [preset] if preset.query is None else [preset, preset.side("query")]


def _fingerprint(location: str | None) -> str | None:
    if location is None:
        return None
    folder = Path(location)
    if not folder.is_dir():  # a cached hub id: its snapshot is named by its commit
        from huggingface_hub import try_to_load_from_cache

        found = {name: try_to_load_from_cache(location, name) for name in WEIGHTS}
        name, path = next((n, p) for n, p in found.items() if isinstance(p, str))
        return Path(path).parents[name.count("/")].name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # Checkpoints are large; a file that is the same to the nanosecond is not read again.
    stamps = tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
    return _hash_files(folder, stamps)


@cache
def _hash_files(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for name, _, _ in stamps:
        digest.update(f"{Path(name).relative_to(folder)} {sha256(name)}\n".encode())
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

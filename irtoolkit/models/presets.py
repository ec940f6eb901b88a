"""Published models by the names that papers give them, and the location of their weights."""

from __future__ import annotations

import hashlib
import logging
import os
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.models import places
from irtoolkit.models.downloads import (
    VARIABLE,
    configuration_of,
    fetched_from_hub,
    files_of,
    may_download,
)
from irtoolkit.models.places import read_model_json as read_model_json
from irtoolkit.models.preset import Kind as Kind
from irtoolkit.models.preset import Preset as Preset
from irtoolkit.models.preset import Side as Side

# The classes of sentence-transformers by what they make of a text.
SAVED_AS: dict[Kind, str] = {
    "dense": "SentenceTransformer",
    "late": "MultiVectorEncoder",
    "sparse": "SparseEncoder",
    "cross": "CrossEncoder",
}
# Its names of the ways to compare two vectors.
COMPARED_AS = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}
_ENDINGS: dict[str, Kind] = {
    "ForSequenceClassification": "cross",
    "HF_ColBERT": "late",
    "ForRetrieval": "late",
    "ForMaskedLM": "sparse",
}
# The encoders of documents and of queries in a folder as RELiC's authors save it.
TWO_ENCODERS = ("suffix_encoder", "prefix_encoder")
PRESETS = Path(__file__).with_name("models.toml")

_log = logging.getLogger(__name__)


@cache
def presets() -> dict[str, Preset]:
    """Presets by name."""
    data = tomllib.loads(PRESETS.read_text("utf-8"))
    return {name: Preset(**fields) for name, fields in data.items()}


@cache
def aliases() -> dict[str, str]:
    """Returns other names of presets, each with the preset's own name."""
    return {preset.alias: name for name, preset in presets().items() if preset.alias}


def find_preset(name: str, weights: str | None = None, query_weights: str | None = None) -> Preset:
    """Returns the record of a model.

    Args:
        name: a preset, or the hub id that one preset has; any other name is a folder or hub id
            without further facts.
        weights: folder or hub id to use in place of the preset's, of the document encoder if
            there are two; or a folder with both, see TWO_ENCODERS.
        query_weights: that of the query encoder.
    """
    preset = preset_name(name)
    preset_found = Preset(name) if preset is None else replace(presets()[preset], name=preset)
    if weights is not None:
        preset_found = replace(
            preset_found,
            id=weights,
            query=None,
            package=None,
            extra=None,
            converted="",
            unpublished="",
        )
    if query_weights is not None:
        preset_found = replace(preset_found, query=query_weights)
    parts = [Path(preset_found.id).expanduser() / part for part in TWO_ENCODERS]
    if not all(part.is_dir() for part in parts):
        return preset_found
    return replace(preset_found, id=str(parts[0]), query=preset_found.query or str(parts[1]))


def preset_name(name: str) -> str | None:
    """Returns the preset that a name means: its name, its alias, or a hub id of it alone.

    Else None.
    """
    if name in presets():
        return name
    if name in aliases():
        return aliases()[name]
    if "/" not in name or Path(name).is_dir():
        return None
    having = [
        preset
        for preset, candidate in presets().items()
        # An adapter's own id does not mean the preset that has another one for queries.
        if candidate.id == name and not (candidate.base and candidate.query)
    ]
    return having[0] if len(having) == 1 else None


def missing_weights(preset: Preset, setting: str | None = None) -> str | None:
    """Returns why a model cannot be loaded here, or None. Downloads nothing.

    Args:
        preset: the record of the model.
        setting: the setting that takes another folder; by default weights for a preset, else model.
    """
    remedy = _missing_weights(preset)
    if remedy is None or setting is None:
        return remedy
    return remedy.replace("weights=PATH", f"{setting}=PATH").replace("model=", f"{setting}=")


def _missing_weights(preset: Preset) -> str | None:
    if not preset.id.strip():
        return "no model is named: give a preset, a folder or a hub id as model=NAME"
    if find_spec("sentence_transformers") is None:
        return str(needs_extra("sentence-transformers", preset.extra or "neural"))
    absent = [part.id for part in _parts(preset) if place_of(part) is None]
    if not absent:
        return None
    if preset.unpublished:
        return f"the weights of {preset.name} are not on the hub: {preset.unpublished}"
    if preset.converted:
        return f"the weights of {preset.name} have a form of their own: {preset.converted}"
    if absent[0].startswith((".", "/", "~")):
        return f"there is no model in {absent[0]}"
    if may_download():
        return None
    guess = "" if preset.name else did_you_mean(preset.id, presets())
    steps = [f"`{needs_extra(preset.name, preset.extra).remedy}`"] if preset.extra else []
    fetch = f"run `hf download {absent[0]}`, set {VARIABLE}=1 to let irtoolkit fetch them"
    steps.append("unset it" if places.hub_is_off() else fetch)
    message = (
        f"the weights of {absent[0]} are not here{why_not_fetched()}: {', '.join(steps)}, or give a folder as"
        f" {'weights' if preset.name else 'model'}=PATH"
    )
    return f"{message}; {guess}".rstrip("; ")


def why_not_fetched() -> str:
    """Returns how the environment forbids downloads, to end a message, or "" if it does not."""
    if places.hub_is_off():
        return ", and HF_HUB_OFFLINE keeps them from being downloaded"
    return f", and {VARIABLE}=0 is set" if not may_download() and os.environ.get(VARIABLE) else ""


def require_kind(preset: Preset, kind: Kind) -> None:
    """Checks that a model is on this machine, or can be downloaded, and is of a kind.

    Raises:
        InputError: it is not.
    """
    remedy = missing_weights(preset)
    if remedy is not None:
        raise InputError(remedy)
    if preset.name and preset.kind != kind:
        raise InputError(
            f"{preset.name} is a model of kind {preset.kind}, not {kind}",
            remedy=f"models of kind {kind}: {', '.join(_of_kind(kind))}",
        )


def model_folder(preset: Preset) -> str:
    """Returns the folder that one model is loaded from, downloaded from the hub if allowed.

    Raises:
        InputError: it is not on this machine and cannot be downloaded.
    """
    folder = place_of(preset)
    if folder is not None:
        return folder
    remedy = missing_weights(preset)
    if remedy is not None:
        raise InputError(remedy)
    return fetched_from_hub(preset.id, preset.licence)


def announce_downloads(used: Iterable[Preset], instead: str) -> None:
    """Says in one line which weights are to be downloaded, and how many MB they are together.

    Args:
        used: presets that a system uses, though the user has named none of them.
        instead: a system that needs no weights.

    Raises:
        InputError: the hub cannot be reached, or lacks one of them.
    """
    absent = [preset.id for preset in used if place_of(preset) is None]
    if not absent or not may_download():
        return
    _log.warning(
        "weights that are not here are downloaded from the Hugging Face hub: %s, %s MB in all;"
        " %s=0 downloads nothing, and %s needs none",
        " and ".join(absent),
        f"{sum(sum(files_of(hub_id).values()) for hub_id in absent) / 1e6:,.0f}",
        VARIABLE,
        instead,
    )


def kind_of(name: str, default: Kind) -> Kind:
    """Returns the kind of a model: a preset's, or that in the files of a local one."""
    preset = preset_name(name)
    if preset is not None:
        return presets()[preset].kind
    if find_spec("sentence_transformers") is None:
        return default  # what loads the model says what to install
    folder = place_of(Preset(name))
    if folder is None and places.is_hub_id(name) and may_download():
        folder = configuration_of(name)
    kind = said_kind(folder) if folder else None
    # A masked language model may be for anything.
    if kind == "sparse" and not read_model_json(str(folder), "config_sentence_transformers.json"):
        return default
    return kind or default


def said_kind(location: str) -> Kind | None:
    """Returns the kind of outputs that a model's files declare, or None."""
    saved = read_model_json(location, "config_sentence_transformers.json").get("model_type")
    if saved == "ColBERT":  # PyLate's
        return "late"
    if saved in SAVED_AS.values():
        return next(kind for kind, value in SAVED_AS.items() if value == saved)
    if read_model_json(location, "modules.json"):
        return "dense"
    for architecture in read_model_json(location, "config.json").get("architectures") or ():
        for ending, kind in _ENDINGS.items():
            if architecture.endswith(ending):
                return kind
    return None


def weights_hash(preset: Preset) -> str | None:
    """Returns a hash of a model's files, which are downloaded if need be; None if that may not be."""
    if missing_weights(preset) is None:
        for part in _parts(preset):
            model_folder(part)
    folders = [place_of(part) for part in _parts(preset)]
    hashes = [places.fingerprint(folder) for folder in folders if folder is not None]
    if len(hashes) < len(folders):
        return None
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def _of_kind(kind: Kind) -> list[str]:
    return [name for name, preset in presets().items() if preset.kind == kind]


def _parts(preset: Preset) -> list[Preset]:
    sides = [preset] if preset.query is None else [preset, preset.side("query")]
    bases = {base for base in map(base_of, sides) if base is not None}
    return [*sides, *map(Preset, sorted(bases))]


def base_of(preset: Preset) -> str | None:
    """Returns the folder or hub id of the model that a preset's bottleneck adapter is for, or None."""
    folder = place_of(preset)
    return preset.base if folder is None else places.base_of_bottleneck(folder, preset.base)


def place_of(preset: Preset) -> str | None:
    """Returns the folder of a model's files on this machine; None of one without weights here."""
    if preset.package is not None:
        module, _, function = preset.package.partition(":")
        if find_spec(module) is not None:
            return str(getattr(import_module(module), function)())
    folder = Path(preset.id).expanduser()
    if folder.is_dir():
        return str(folder)
    return places.in_hub_cache(preset.id)

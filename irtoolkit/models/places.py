"""The folders that models are in on this machine: the hub's cache, and any other folder."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.jsons import load_json

# One of these is in the folder of a model, or in those of its encoders there.
_MODELS = ("config.json", "modules.json", "sim.pt")
# The files of a bottleneck adapter of AdapterHub: its settings, and its weights in one of two forms.
BOTTLENECK = "adapter_config.json"
BOTTLENECK_WEIGHTS = ("adapter.safetensors", "pytorch_adapter.bin")
_MARKS = (*_MODELS, *BOTTLENECK_WEIGHTS)
_WEIGHTS = (".safetensors", ".bin", ".pt")
# What a training saves beside the weights, under the same endings.
_OF_TRAINING = ("training_args.*", "optimizer*.*", "scheduler*.*", "scaler*.*", "rng_state*.*")
# A hub id, as the hub's library takes it, which may not be installed.
_HUB_ID, _LONGEST_ID = re.compile(r"(?:\w[\w.-]*)?\w/\w(?:[\w.-]*\w)?", re.ASCII), 96
# The records of a training and of a conversion, in the folder of the model; under this key, the SHA-256
# of each file of weights.
RECORD, CONVERSION, WEIGHTS = "training.json", "conversion.json", "weights"
# What wrote the weights, and how it is done again.
_WRITTEN = {RECORD: ("training", "train"), CONVERSION: ("convert", "convert")}

# What a hub repository may hold for other libraries.
_UNWANTED = ("*.onnx", "*.h5", "*.msgpack", "*.ot", "onnx/*", "openvino/*")
# Where one of the first is in a folder, it is loaded, and the second are not needed.
_SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_OTHER_WEIGHTS = "pytorch_model*.bin*"


def in_hub_cache(hub_id: str) -> str | None:
    """Returns the folder of a model in the hub's cache, if its files include weights.

    Without the hub's library, there is none.
    """
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    def folder_without(unwanted: list[str]) -> Path:
        """Returns the folder, if all files that do not match are in it."""
        return Path(snapshot_download(hub_id, local_files_only=True, ignore_patterns=unwanted))

    try:
        # What is left out of a download is not missing; the other files say what that is.
        folder = folder_without([*_UNWANTED, f"*{_OTHER_WEIGHTS}"])
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
        folder_without(left_out(names))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return None
    # A cached configuration alone is no model.
    return str(folder) if any(map(is_weights, names)) else None


def left_out(names: Iterable[str]) -> list[str]:
    """Returns the patterns of the files that a download leaves out of a hub repository.

    Args:
        names: the paths of its files.
    """
    safe = {path.parent for path in map(PurePosixPath, names) if path.name in _SAFE_WEIGHTS}
    folders = sorted(PurePosixPath(glob.escape(str(folder))) for folder in safe)
    return [*_UNWANTED, *(str(folder / _OTHER_WEIGHTS) for folder in folders)]


def is_weights(path: str | Path) -> bool:
    """Returns whether a file's name is one of weights, and not of the state of a training."""
    path = Path(path)
    return path.suffix in _WEIGHTS and not any(
        fnmatch(path.name, pattern) for pattern in _OF_TRAINING
    )


def is_hub_id(name: str) -> bool:
    """Returns whether a name has the form of a hub id with an owner: OWNER/NAME."""
    fits = _HUB_ID.fullmatch(name) is not None and len(name) <= _LONGEST_ID
    return fits and "--" not in name and ".." not in name


def has_model(folder: Path) -> bool:
    """Returns whether a folder has the files of a model, or folders of its encoders that have."""
    return any(any(folder.glob(f"{prefix}{name}")) for prefix in ("", "*/") for name in _MARKS)


def base_of_bottleneck(location: str, known: str | None = None) -> str | None:
    """Returns the folder or hub id of the model that a bottleneck adapter is for; None of a model.

    Args:
        location: a folder.
        known: that model, if it is known; by default the one that the adapter's file names.

    Raises:
        InputError: one of the adapter's two files is missing, or its model is not named.
    """
    folder, settings = Path(location), read_model_json(location, BOTTLENECK)
    weights = any((folder / name).is_file() for name in BOTTLENECK_WEIGHTS)
    if not (weights or "config" in settings) or any((folder / name).is_file() for name in _MODELS):
        return None
    if not (weights and "config" in settings):
        missing = BOTTLENECK if weights else BOTTLENECK_WEIGHTS[-1]
        raise InputError(
            "a bottleneck adapter without this file, or without its content",
            file=folder / missing,
            remedy="fetch or copy the folder of the adapter again",
        )
    base = known or settings.get("model_name")
    if not isinstance(base, str) or not base.strip():
        raise InputError(
            "the adapter does not name its base model",
            file=folder / BOTTLENECK,
            remedy="put the folder or hub id of that model there as model_name",
        )
    return base


def hub_is_off() -> bool:
    """Returns whether the hub's library may not use the network."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def fingerprint(location: str) -> str:
    """Returns a hash of the files in a folder.

    Raises:
        InputError: there is no model in it; a home folder, for example, should not be read in full.
    """
    folder = Path(location)
    # The folders of the hub's cache are named by commit.
    if folder.parent.name == "snapshots":
        return folder.name
    if not has_model(folder):
        raise InputError(
            f"there is no model in {location}", remedy=f"a model has a {' or '.join(_MARKS)}"
        )
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # Checkpoints are large; a file that is the same to the nanosecond is not read again.
    stamps = tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
    return _hash_files(folder, stamps)


def weight_sums(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file of weights in a model's folder, by its path there."""
    files = sorted(path for path in folder.rglob("*") if is_weights(path))
    return {path.relative_to(folder).as_posix(): _sum(path) for path in files}


def check_unchanged(location: str) -> None:
    """Raises InputError if a trained or converted model's weights are not those once written.

    Models that have no record of hashes, from older versions, are accepted.

    Args:
        location: the folder of a model, or of one of its two encoders; anything else has no record.

    Raises:
        InputError: a file of weights is damaged, changed or missing.
    """
    for folder in (Path(location), Path(location).parent):
        for record, (writer, again) in _WRITTEN.items():
            for name, expected in _recorded(folder / record).items():
                path = folder / name
                if not path.is_relative_to(location):
                    continue
                if not path.is_file() or _sum(path) != expected:
                    problem = (
                        f"not the weights that {writer} wrote" if path.is_file() else "missing"
                    )
                    raise InputError(
                        f"{problem}: damaged or changed",
                        file=path,
                        remedy=f"copy or {again} the model again; if it is meant, delete {WEIGHTS!r}"
                        f" from {record}",
                    )


def _recorded(record: Path) -> dict[str, str]:
    """Returns the hashes in the record of a model; {} if there is no record with them."""
    try:
        sums = load_json(record.read_text("utf-8"))[WEIGHTS]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return sums if isinstance(sums, dict) else {}


def _sum(path: Path) -> str:
    status = path.stat()
    return _hash_file(str(path), (status.st_size, status.st_mtime_ns))


@cache
def _hash_file(name: str, stamp: tuple[int, int]) -> str:
    """Returns the SHA-256 of a file, cached while its size and time stay the same."""
    return sha256(name)


@cache
def _hash_files(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for name, *stamp in stamps:
        file_digest = _hash_file(name, (stamp[0], stamp[1]))
        digest.update(f"{Path(name).relative_to(folder)} {file_digest}\n".encode())
    return digest.hexdigest()


def read_model_json(location: str, name: str) -> dict[str, Any]:
    """Returns a JSON file of a model's folder; {} if it is missing, and {"": list} if it is a list.

    Raises:
        InputError: it is not JSON.
    """
    path = Path(location) / name
    if not path.is_file():
        return {}
    try:
        content = load_json(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=path) from None
    return content if isinstance(content, dict) else {"": content}

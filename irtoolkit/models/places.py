"""The folders that models are in on this machine: the hub's cache, and any other folder."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.models.sources import fetched_home

_WEIGHTS = (".safetensors", ".bin", ".pt")
# What a hub repository may hold for other libraries.
_UNWANTED = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "onnx/*", "openvino/*"]


def in_hub_cache(hub_id: str) -> str | None:
    """The folder of a model in the hub's cache, where there are weights among its files."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        found = Path(snapshot_download(hub_id, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return None
    # A cached configuration alone is no model.
    return str(found) if any(path.suffix in _WEIGHTS for path in found.rglob("*")) else None


def fetched_from_hub(hub_id: str) -> str:
    """The folder of a model in the hub's cache, after fetching what is not there.

    Raises:
        InputError: the hub cannot be reached, or has no such model.
    """
    from huggingface_hub import snapshot_download

    try:
        return str(snapshot_download(hub_id, ignore_patterns=_UNWANTED))
    except Exception as error:  # the hub has many, and the network more
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"cannot fetch {hub_id}: {reason}") from None


def hub_is_off() -> bool:
    """Whether the hub's library may not use the network."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def fingerprint(location: str) -> str:
    """A hash of the files in a folder."""
    folder = Path(location)
    # The folders of the hub's cache are named by commit, and fetched ones by their files' hashes.
    if folder.parent.name == "snapshots" or folder.parent == fetched_home():
        return folder.name
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

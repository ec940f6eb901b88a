"""Indexes at URLs, copied to this machine shard by shard.

A shard never changes under its name, which holds the hash of its content. So it is copied once, a copy is
whole or absent, and a manifest that has changed makes only new shards come.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from irtoolkit.base import remote
from irtoolkit.base.copies import copies_of
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text, is_file, sha256
from irtoolkit.base.filesystems import reaching
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import call, joined, on_disk, url_of
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.manifest import LISTING, NAME, Manifest, ShardEntry, check_shard
from irtoolkit.indexes.shards import DELETED, SHARDS, deleted

# The lock beside a copy that is being changed: its manifest is not that at the URL.
CHANGING = "changing.lock"
# Seconds for which the copies of shards that the index has no more are kept: a process may read them.
_KEPT_SECONDS = 86_400
# Times that an index may change while it is copied.
_TRIES = 5


def is_index(location: StrPath) -> bool:
    """Whether a folder or URL holds an index."""
    return is_file(joined(location, NAME))


def local_index(location: StrPath, shards: Iterable[int] | None = None) -> Path:
    """The folder on this machine of an index, whose shards are there to be opened.

    What is missing of an index at a URL is copied, and checked against the hashes of its files. Any
    number of processes may ask at once, each for its own shards.

    Args:
        location: a URL, or a folder, which is returned as it is.
        shards: the numbers of those that are needed, in the order of the manifest; by default all.

    Raises:
        InputError: there is no index, it cannot be read, it is damaged, or the disk refuses.
    """
    url = url_of(location)
    if url is None:
        return on_disk(location)
    url = url.rstrip("/")
    folder, numbers = copy_of(url), None if shards is None else list(shards)
    text = manifest_at(url)
    for _ in range(_TRIES):
        manifest = Manifest.parse(text, str(joined(url, NAME)))
        chosen = manifest.shards if numbers is None else [manifest.shards[n] for n in numbers]
        failed: InputError | None = None
        try:
            for entry in chosen:
                _copy_shard(url, folder, entry)
        except InputError as error:
            failed = error
        with locked(folder.with_name("manifest.lock")):
            now = manifest_at(url)
            if now == text and failed is None:
                _settle(folder, text, manifest)
                return folder
        if now == text and failed is not None:
            raise failed
        text = now  # it was changed while its shards were copied
    raise InputError("the index changes while it is copied", file=url, remedy="try again later")


def copy_of(url: str) -> Path:
    """The folder of the copy of an index, which messages call by its URL."""
    url = url.rstrip("/")
    folder = copies_of(url) / "index"
    call(folder, url)
    return folder


def manifest_at(url: str) -> str:
    """The text of the manifest of an index at a URL.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    location = str(joined(url, NAME))
    files, path = remote.filesystem(location)
    with reaching(location):
        try:
            return str(files.cat_file(path).decode("utf-8"))
        except FileNotFoundError:
            remedy = f"make one with irtoolkit index DATASET bm25 -o {url}"
            raise InputError(f"{url} is not an index", remedy=remedy) from None


def _copy_shard(url: str, folder: Path, entry: ShardEntry) -> None:
    """Copies a shard and the list of its deleted documents, where they are not there yet."""
    for name in (entry.name, entry.deleted or entry.name):
        remote.check_member_name(name, url, single=True)
    target = folder / SHARDS / entry.name
    if entry.deleted is not None and not (folder / DELETED / entry.deleted).is_file():
        with locked(folder.with_name(f"{entry.name}.lock"), remove=True):
            half = folder / DELETED / f".{entry.deleted}.part"
            nothing = remote.RemoteFile(None, "")
            remote.download(f"{url}/{DELETED}/{entry.deleted}", half, nothing)
            half.replace(folder / DELETED / entry.deleted)
    if _is_whole(target, entry):
        with suppress(OSError):
            os.utime(target)
        return
    with locked(folder.with_name(f"{entry.name}.lock"), remove=True):
        if _is_whole(target, entry):
            return
        shutil.rmtree(target, ignore_errors=True)
        half = target.with_name(f".{entry.name}.part")
        _copy_files(f"{url}/{SHARDS}/{entry.name}", half, entry)
        half.rename(target)


def _is_whole(path: Path, entry: ShardEntry) -> bool:
    """Whether the copy of a shard can be opened."""
    try:
        check_shard(path, entry)
    except DamagedIndexError:
        return False
    return True


def _copy_files(source: str, half: Path, entry: ShardEntry) -> None:
    """Copies the files of a shard, or what is missing of them."""
    if not (half / LISTING).is_file() or sha256(half / LISTING) != entry.sha256:
        shutil.rmtree(half, ignore_errors=True)
        remote.download(f"{source}/{LISTING}", half / LISTING, remote.RemoteFile(None, ""))
    if sha256(half / LISTING) != entry.sha256:
        raise _damaged(f"{source}/{LISTING}", half / LISTING)
    for name, recorded in json.loads((half / LISTING).read_text("utf-8"))["files"].items():
        remote.check_member_name(name, source, single=True)
        remote.download(f"{source}/{name}", half / name, remote.RemoteFile(recorded["bytes"], ""))
        if sha256(half / name) != recorded["sha256"]:
            raise _damaged(f"{source}/{name}", half / name)


def _damaged(url: str, copy: Path) -> InputError:
    copy.unlink()
    return DamagedIndexError("damaged: its bytes are not what was written", file=url)


def _settle(folder: Path, text: str, manifest: Manifest) -> None:
    """Makes a manifest that of the copy, and removes what nobody has read of others for long.

    A copy that is being changed stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    if not path.is_file() or path.read_text("utf-8") != text:
        with locked(folder.with_name(CHANGING), wait=False) as is_locked:
            if not is_locked:
                return
            with atomic_text(path) as out:
                out.write(text)
    names = {entry.name for entry in manifest.shards}
    for shard in (folder / SHARDS).glob("*"):
        with suppress(OSError):
            if shard.name not in names and time.time() - shard.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(shard, ignore_errors=True)


def verify(url: str) -> int:
    """Copies every byte of an index at a URL once more, to check it; the number of files.

    Raises:
        InputError: names the first file that is not what was written.
    """
    url, count = url.rstrip("/"), 1
    manifest = Manifest.parse(manifest_at(url), str(joined(url, NAME)))
    for entry in manifest.shards:
        with TemporaryDirectory(dir=copies_of(url)) as folder:
            _copy_shard(url, Path(folder), entry)
            deleted(Path(folder), entry)
            count += len(os.listdir(Path(folder) / SHARDS / entry.name)) + (
                entry.deleted is not None
            )
    return count

"""Copies of files at URLs in irtoolkit's cache, and files on their way to a URL."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from irtoolkit.base import remote
from irtoolkit.base.errors import InputError
from irtoolkit.base.home import cache_home
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import call, url_of

_FOLDER, _UPLOADS = "remote", "uploads"
# Seconds for which the copy of a version that is there no more is kept: a process may read it.
_KEPT_SECONDS = 86_400
# Times that a file may change while it is copied.
_TRIES = 3


def copies_of(url: str) -> Path:
    """Returns the folder with the local copies of a URL, whose query counts too."""
    return cache_home() / _FOLDER / _hashed(url_of(url) or url, 32)


def copied(url: str) -> Path:
    """Returns the local copy of a file at a URL, which is downloaded if this version has none.

    Any number of processes may call this at once. An interrupted copy continues. If the server
    gives no version information, the file is copied each time.

    Raises:
        InputError: there is no such file, it cannot be read, or the disk refuses.
    """
    folder, name = copies_of(url), remote.name_of(url)
    for _ in range(_TRIES):
        remote_file = remote.file_at(url)
        copy = folder / _hashed(remote_file.version, 16) / name if remote_file.version else None
        if copy is None or not copy.is_file():
            with locked(folder / "lock"):
                if copy is None:
                    copy = _unmarked(url, remote_file, folder / name)
                elif not copy.is_file() and not _copy(url, remote_file, copy):
                    continue
                forget(folder, copy.parent)
        call(copy, url)
        with suppress(OSError):
            os.utime(copy.parent)
        return copy
    raise InputError("it changes while it is copied", file=url, remedy="try again later")


def _hashed(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _unmarked(url: str, remote_file: remote.RemoteFile, beside: Path) -> Path:
    """Copies a file whose version can only be told from its content."""
    half = beside.with_name(f"{beside.name}.part")
    half.unlink(missing_ok=True)  # of which nobody knows what version it is
    remote.download(url, half, remote_file)
    with open(half, "rb") as raw:
        content = hashlib.file_digest(raw, "sha256").hexdigest()
    copy = beside.with_name(content[:16]) / beside.name
    copy.parent.mkdir(exist_ok=True)
    half.replace(copy)
    return copy


def _copy(url: str, remote_file: remote.RemoteFile, copy: Path) -> bool:
    """Copies one version of a file; returns False if the file has changed meanwhile."""
    half = copy.with_name(f"{copy.name}.part")
    remote.download(url, half, remote_file)
    if remote.file_at(url) != remote_file:
        half.unlink()
        return False
    half.replace(copy)
    return True


def forget(folder: Path, current: Path) -> None:
    """Removes copies of older versions that have not been used lately."""
    for path in folder.iterdir():
        with suppress(OSError):
            old = time.time() - path.stat().st_mtime > _KEPT_SECONDS
            if path.is_dir() and path != current and old:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def uploaded(url: str, *others: str) -> Iterator[list[Path]]:
    """Yields a path to write to for each URL; the files are uploaded when the block succeeds.

    What is at the other URLs is removed first, so that they never accompany another version of the
    first; then all files are uploaded in order. If the block fails, nothing is uploaded. If an
    upload fails, the files stay on this machine, and the error says where.
    """
    home = cache_home() / _FOLDER / _UPLOADS
    try:
        home.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="", dir=home))
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=home) from None
    files = {address: folder / remote.name_of(address) for address in (url, *others)}
    for address, path in files.items():
        call(path, address)
    complete = False
    try:
        yield list(files.values())
        complete = True
        with locked(copies_of(url) / "put.lock"):
            _put(files, others)
        complete = False
    except InputError as error:
        if not complete:
            raise
        advice = f"{error.remedy}; " if error.remedy else ""
        raise InputError(
            error.found, file=error.file, remedy=f"{advice}the finished file is kept in {folder}"
        ) from error
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=folder) from error
    finally:
        if not complete:
            shutil.rmtree(folder, ignore_errors=True)


def _put(files: Mapping[str, Path], others: Sequence[str]) -> None:
    for url in reversed(others):
        remote.remove(url)
    for url, path in files.items():
        if path.is_file():
            remote.put(path, url)

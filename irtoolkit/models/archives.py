"""Members of wheels, .zip and .tgz archives as files. Nothing else of an archive is read or run."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_path

_PIECE = 1 << 20


def take(archive: Path, members: Mapping[str, tuple[Path, int | None, str | None]]) -> None:
    """Writes members of an archive to files, each whole or not at all.

    Args:
        archive: a wheel, .zip or .tgz.
        members: exact name of a member to the file to write, and its expected size and SHA-256. Names
            in the archive never decide a path: no member is written elsewhere.

    Raises:
        InputError: the archive is damaged or lacks a member, or a member is not a file, or has another
            size or hash.
    """
    remaining = dict(members)
    try:
        with _opened(archive) as entries:
            for name, size, stream in entries:
                if name in remaining:
                    target, expected_size, digest = remaining.pop(name)
                    _refuse(archive, name, size, expected_size)
                    _copy(archive, name, stream, target, size, digest)
                if not remaining:
                    break
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise InputError(f"not an archive that can be read: {error}", file=archive) from None
    if remaining:
        raise InputError(f"the archive has no file {next(iter(remaining))}", file=archive)


class _Member:
    """A member of an archive, opened only if needed."""

    def __init__(self, opened: object, member: object) -> None:
        self._opened, self._member = opened, member

    def open(self) -> IO[bytes]:
        if isinstance(self._opened, zipfile.ZipFile):
            return self._opened.open(cast(zipfile.ZipInfo, self._member))
        archive, member = cast(tarfile.TarFile, self._opened), cast(tarfile.TarInfo, self._member)
        return cast(IO[bytes], archive.extractfile(member))


@contextmanager
def _opened(archive: Path) -> Iterator[Iterator[tuple[str, int, _Member]]]:
    """Yields the plain files of an archive: name, size, member."""
    if archive.name.endswith((".tgz", ".tar.gz")):
        with tarfile.open(archive, "r:gz") as tar:
            yield ((entry.name, entry.size, _Member(tar, entry)) for entry in tar if entry.isreg())
    else:
        with zipfile.ZipFile(archive) as zipped:
            infos = [entry for entry in zipped.infolist() if not entry.is_dir()]
            yield ((entry.filename, entry.file_size, _Member(zipped, entry)) for entry in infos)


def _refuse(archive: Path, name: str, size: int, expected: int | None) -> None:
    if expected is not None and size != expected:
        raise InputError(f"{name} has {size:,} bytes instead of {expected:,}", file=archive)


def _copy(
    archive: Path, name: str, member: _Member, target: Path, size: int, expected: str | None
) -> None:
    """Copies as many bytes as the archive says that a member has, and refuses more."""
    digest, count = hashlib.sha256(), 0
    with atomic_path(target) as part, open(part, "wb") as out, member.open() as stream:
        while piece := stream.read(_PIECE):
            count += len(piece)
            _refuse(archive, name, max(count, size), size)
            digest.update(piece)
            out.write(piece)
        _refuse(archive, name, count, size)
        if expected is not None and digest.hexdigest() != expected:
            raise InputError(
                f"{name} has SHA-256 {digest.hexdigest()} instead of {expected}", file=archive
            )
        out.flush()
        os.fsync(out.fileno())


def join(pieces: list[Path], target: Path) -> None:
    """Concatenates pieces of an archive in a new file, which appears only when it is complete."""
    with atomic_path(target) as part, open(part, "wb") as out:
        for piece in pieces:
            with open(piece, "rb") as stream:
                while data := stream.read(_PIECE):
                    out.write(data)

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
    left = dict(members)
    try:
        with _opened(archive) as found:
            for name, size, stream in found:
                if name in left:
                    target, wanted, digest = left.pop(name)
                    _refuse(archive, name, size, wanted)
                    _copy(archive, name, stream, target, size, digest)
                if not left:
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
    if left:
        raise InputError(f"the archive has no file {next(iter(left))}", file=archive)


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
            yield ((each.name, each.size, _Member(tar, each)) for each in tar if each.isreg())
    else:
        with zipfile.ZipFile(archive) as zipped:
            infos = [each for each in zipped.infolist() if not each.is_dir()]
            yield ((each.filename, each.file_size, _Member(zipped, each)) for each in infos)


def _refuse(archive: Path, name: str, size: int, wanted: int | None) -> None:
    if wanted is not None and size != wanted:
        raise InputError(f"{name} has {size:,} bytes instead of {wanted:,}", file=archive)


def _copy(
    archive: Path, name: str, member: _Member, target: Path, size: int, wanted: str | None
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
        if wanted is not None and digest.hexdigest() != wanted:
            raise InputError(
                f"{name} has SHA-256 {digest.hexdigest()} instead of {wanted}", file=archive
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

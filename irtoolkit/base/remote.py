"""Files at URLs, through fsspec: inspected, downloaded, uploaded, removed.

Every failure is one InputError, which says what failed and what to do. Nothing here waits for ever:
connections and reads have the time limits of their libraries, and transient failures are retried a
few times.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.filesystems import filesystem as filesystem
from irtoolkit.base.filesystems import protocol_of, reaching, said
from irtoolkit.base.paths import split_query, url_of
from irtoolkit.base.progress import tqdm

# Bytes that are copied at once, and from which on a copy shows a bar.
_PIECE, _SHOWN = 1 << 25, 1 << 24
# Where a file appears only when all of it is there.
_OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "hf", "memory", "http", "https")
_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
# What tells versions of a file apart, as file systems name it: marks of the content, and times.
_MARKS = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "Content-MD5",
    "Digest",
    "blob_id",
    "sha",
    "hex",
    "generation",
    "VersionId",
)
_TIMES = (
    "LastModified",
    "last_modified",
    "Last-Modified",
    "updated",
    "mtime",
    "modified",
    "modify",
    "last_write_time",
    "modificationTime",
    "created",
)


class RemoteFile(NamedTuple):
    """A file at a URL.

    Attributes:
        bytes: its size, or None if the server does not say.
        version: changes with its content; "" if the server gives no version.
    """

    bytes: int | None
    version: str


def look(url: str) -> Mapping[str, Any] | None:
    """Returns a file system's information on a file or folder; None if it does not exist.

    Raises:
        InputError: the server cannot be reached or refuses.
    """
    system, path = filesystem(url)
    with reaching(url):
        try:
            details: Mapping[str, Any] = system.info(path)
        except FileNotFoundError:
            return None
    return details


def is_file(url: str) -> bool:
    """Returns whether there is a file at a URL; errors as for `look`."""
    details = look(url)
    return details is not None and details.get("type") != "directory"


def is_folder(url: str) -> bool:
    """Returns whether something is under a URL; errors as for `look`."""
    details = look(url)
    return details is not None and details.get("type") == "directory"


def file_at(url: str) -> RemoteFile:
    """Returns the size and version of the file at a URL.

    Raises:
        InputError: it does not exist, is a folder, or cannot be reached.
    """
    details = look(url)
    if details is None:
        raise said(FileNotFoundError(), url, "read")
    if details.get("type") == "directory":
        raise InputError("cannot read: a folder, not a file", file=url)
    return _described(details)


def _described(details: Mapping[str, Any]) -> RemoteFile:
    size = details.get("size")
    for names in (_MARKS, _TIMES):
        marks = [f"{name}={details[name]}" for name in names if details.get(name)]
        if marks:
            return RemoteFile(size, " ".join([f"size={size}", *marks]))
    return RemoteFile(size, "")


def files_under(url: str) -> dict[str, RemoteFile]:
    """Returns the files under a URL by their relative names; {} if there are none."""
    system, path = filesystem(url)
    with reaching(url):
        listed: Mapping[str, Any] = system.find(path, detail=True)
    root = path.rstrip("/") + "/"
    inside = {
        name.removeprefix(root): details
        for name, details in sorted(listed.items())
        if name.startswith(root)
    }
    for name in inside:
        check_member_name(name, url)
    described = {name: _described(details) for name, details in inside.items()}
    with reaching(url):  # web servers list names only, and say more of each file
        return {
            name: file if file.version else _described(system.info(root + name))
            for name, file in described.items()
        }


def check_member_name(name: str, url: str, *, single: bool = False) -> None:
    """Raises InputError if a name leads out of its folder, or is not single if it should be."""
    parts = name.replace(os.sep, "/").split("/")
    if {"", ".", ".."} & set(parts) or (single and len(parts) > 1):
        raise InputError(f"the name {name!r} leads out of its folder", file=url)


def download(url: str, target: Path, expected: RemoteFile) -> None:
    """Downloads a file to a path on this machine; continues a partial download.

    Args:
        url: the file.
        target: the path; an existing file is the beginning of the same version.
        expected: the file's size and version.

    Raises:
        InputError: it cannot be read, its length has changed, or the disk refuses.
    """
    files, path = filesystem(url)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if expected.bytes is None or protocol_of(url) in ("http", "https"):
            with reaching(url):
                files.get_file(path, str(target))
        else:
            _pieces(url, files, path, target, expected.bytes)
        have = target.stat().st_size
    except OSError as error:
        raise InputError(
            f"cannot copy to this machine: {error.strerror or error}",
            file=url,
            remedy=f"free some space in {target.parent}, or set IRTOOLKIT_CACHE to another folder",
        ) from None
    if expected.bytes is not None and have != expected.bytes:
        target.unlink()
        raise InputError(f"the copy has {have:,} bytes, not {expected.bytes:,}", file=url)


def _pieces(url: str, files: Any, path: str, target: Path, size: int) -> None:
    with open(target, "ab") as out:
        done = out.tell()
        if done > size:
            out.truncate(0)
            done = 0
        with tqdm(
            total=size,
            initial=done,
            desc=f"copying {target.name}",
            unit="B",
            unit_scale=True,
            disable=None if size >= _SHOWN else True,
        ) as bar:
            while done < size:
                with reaching(url):
                    piece = files.cat_file(path, start=done, end=min(done + _PIECE, size))
                if not piece:
                    break
                out.write(piece)
                done += len(piece)
                bar.update(len(piece))


def put(local: Path, url: str) -> None:
    """Uploads a file to a URL atomically.

    Raises:
        InputError: it cannot be written there.
    """
    files, path = filesystem(url)
    with reaching(url, "write"):
        if protocol_of(url) in _OBJECT_STORES:
            files.put_file(str(local), path)
            return
        folder, _, name = path.rpartition("/")
        files.makedirs(folder, exist_ok=True)
        # Process numbers differ on one machine only.
        half = f"{folder}/.{name}.{secrets.token_hex(8)}.tmp"
        try:
            files.put_file(str(local), half)
            files.mv(half, path)
        except BaseException:
            with suppress(Exception):  # what went wrong is said, not that this did too
                files.rm_file(half)
            raise


def remove(url: str) -> None:
    """Removes a file, if it is there.

    Raises:
        InputError: it cannot be removed.
    """
    files, path = filesystem(url)
    with reaching(url, "write"):
        try:
            if files.info(path).get("type") != "directory":
                files.rm_file(path)
        except FileNotFoundError:
            return


def check_writable_url(url: str, *, folder: bool = False) -> None:
    """Raises InputError if a URL cannot be written, before the work whose result goes there.

    Missing permission to write shows only when the result is written.

    Raises:
        InputError: no such protocol, bucket or credentials, or its server does not answer.
    """
    files, path = filesystem(url)
    if protocol_of(url) in ("http", "https"):
        raise InputError("cannot write: web addresses can only be read", file=url)
    buckets = protocol_of(url) in _BUCKETS
    root, _, name = path.lstrip("/").partition("/")
    if not folder and (not name_of(url) or (buckets and not name)):
        raise InputError("cannot write: the URL names no file", file=url)
    with reaching(url, "write"):
        try:
            if files.info(path)["type"] == "directory" and not folder:
                raise InputError("cannot write: a folder, not a file", file=url)
        except PermissionError:
            return  # of what is not there, some stores say so
        except FileNotFoundError:
            if buckets or protocol_of(url) == "hf":
                with suppress(PermissionError):
                    files.info(root if buckets else _repository(path))


def _repository(path: str) -> str:
    """Returns the repository of a file on the hub; those of models have no type prefix."""
    parts = path.lstrip("/").split("/")
    return "/".join(parts[: 3 if parts[0] in ("datasets", "spaces") else 2])


def name_of(url: str) -> str:
    """Returns the last part of a URL, without a query.

    Raises:
        InputError: it is empty.
    """
    name = split_query(url_of(url) or url)[0].rpartition("/")[2]
    if not name:
        raise InputError("the URL names no file", file=url)
    return name

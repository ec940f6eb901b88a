"""Folders at URLs, copied to this machine file by file.

Each set of versions has a folder of its own, which never changes, as another process may read it.
Files that an older folder has too are linked, and take no space.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from irtoolkit.base import remote
from irtoolkit.base.copies import copied, copies_of, forget
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import call, on_disk, url_of

# Times that a folder may change while it is copied.
_TRIES = 3
# What the files of a folder are versions of.
_VERSIONS = "versions.json"


def folder_at(folder: StrPath) -> Path | None:
    """Returns a folder on this machine with the files of a folder or URL; None if there are none.

    Files that have changed at a URL since they were copied are copied again; those that were
    deleted are left out.

    Raises:
        InputError: it cannot be read, it changes all the time, or the disk refuses.
    """
    url = url_of(folder)
    if url is None:
        return on_disk(folder) if on_disk(folder).is_dir() else None
    url = url.rstrip("/")
    files = remote.files_under(url)
    for _ in range(_TRIES):
        if not files:
            return None
        try:
            mirror = _mirror(url, files)
        except InputError:
            now = remote.files_under(url)
            if now == files:
                raise
            files = now  # a file is gone, or has another size
            continue
        if mirror is not None:
            call(mirror, url)
            return mirror
        files = remote.files_under(url)
    raise InputError("it changes while it is copied", file=url, remedy="try again later")


def _mirror(url: str, files: Mapping[str, remote.RemoteFile]) -> Path | None:
    """Returns the folder of a set of versions; None if the files have changed meanwhile."""
    # Of a file without a mark the content tells; it is copied each time.
    unmarked = {name: copied(f"{url}/{name}") for name, now in files.items() if not now.version}
    versions = {
        name: now.version or f"copy={unmarked[name].parent.name}" for name, now in files.items()
    }
    key = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:32]
    home = copies_of(url) / "folders"
    folder = home / key / "files"
    with locked(copies_of(url) / "lock"):
        if not folder.is_dir():
            half = home / f"{key}.part" / "files"
            older = _older(home, versions)
            with atomic_text(half.with_name(_VERSIONS)) as out:
                json.dump(versions, out)
            for name in files:
                if not (half / name).is_file():
                    _fill(url, name, files[name], half / name, unmarked.get(name, older.get(name)))
            now = remote.files_under(url)
            if now != files:
                for name in files:
                    if now.get(name) != files[name]:  # it may be half of each version
                        (half / name).unlink(missing_ok=True)
                return None
            half.parent.rename(folder.parent)
            forget(home, folder.parent)
        with suppress(OSError):
            os.utime(folder.parent)
    return folder


def _older(home: Path, versions: Mapping[str, str]) -> dict[str, Path]:
    """Returns files of other folders, complete or not, that have the same versions."""
    paths = {}
    for listing in home.glob(f"*/{_VERSIONS}"):
        record = json.loads(listing.read_text("utf-8"))
        for name in record.keys() & versions.keys():
            path = listing.with_name("files") / name
            if record[name] == versions[name] and path.is_file():
                paths[name] = path
    return paths


def _fill(url: str, name: str, now: remote.RemoteFile, target: Path, older: Path | None) -> None:
    """Adds a file to a folder; after an interruption, the next call continues."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.parents[len(Path(name).parts)] / hashlib.sha256(name.encode()).hexdigest()[:32]
    if older is None:
        remote.download(f"{url}/{name}", part, now)
    else:
        part.unlink(missing_ok=True)
        try:
            os.link(older, part)
        except OSError:  # of a disk without links
            shutil.copyfile(older, part)
    part.replace(target)

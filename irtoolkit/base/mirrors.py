"""Folders at URLs, copied to this machine file by file.

Each set of versions has a folder of its own, which never changes, as another process may read it. Its
files are links to the copies of single files, and take no space of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from irtoolkit.base import remote
from irtoolkit.base.copies import copied, copies_of, forget
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.paths import call, on_disk, url_of

# Times that a folder may change while it is copied.
_TRIES = 3


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
    for _ in range(_TRIES):
        files = remote.files_under(url)
        if not files:
            return None
        try:
            mirror = _mirror(url, files)
        except InputError:
            if remote.files_under(url) == files:
                raise
            continue  # a file is gone
        if mirror is not None:
            call(mirror, url)
            return mirror
    raise InputError("it changes while it is copied", file=url, remedy="try again later")


def _mirror(url: str, files: Mapping[str, remote.RemoteFile]) -> Path | None:
    """Returns the folder of a set of versions; None if the files have changed meanwhile."""
    # Of a file without a mark the content tells; it is copied each time.
    versions = {
        name: file.version or f"copy={copied(f'{url}/{name}').parent.name}"
        for name, file in files.items()
    }
    key = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:32]
    home = copies_of(url) / "folders"
    folder = home / key
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=home) as temporary:
            for name in files:
                _link(copied(f"{url}/{name}"), Path(temporary) / "files" / name)
            if remote.files_under(url) != files:
                return None
            try:
                (Path(temporary) / "files").rename(folder)
            except OSError:
                if not folder.is_dir():  # which another process has just made
                    raise
        forget(home, folder)
    with suppress(OSError):
        os.utime(folder)
    return folder


def _link(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, target)
    except OSError:  # of a disk without links
        shutil.copyfile(file, target)

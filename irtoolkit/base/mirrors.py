"""Folders at URLs, copied to this machine file by file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from irtoolkit.base import remote
from irtoolkit.base.copies import copies_of
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import call, on_disk, url_of


def folder_at(place: StrPath) -> Path | None:
    """A folder of this machine with the files of a folder or URL; None where there is nothing.

    What has changed at a URL since it was copied is copied again, and what is gone is removed.

    Raises:
        InputError: it cannot be read, or the disk refuses.
    """
    url = url_of(place)
    if url is None:
        return on_disk(place) if on_disk(place).is_dir() else None
    there = remote.files_under(url)
    if not there:
        return None
    home = copies_of(url)
    folder, versions = home / "folder", home / "versions.json"
    with locked(home / "lock"):
        known: dict[str, Any] = json.loads(versions.read_text()) if versions.is_file() else {}
        for name, now in there.items():
            if known.get(name) != now.version or not (folder / name).is_file():
                _copy(f"{url.rstrip('/')}/{name}", home, folder / name, now)
                known[name] = now.version
                with atomic_text(versions) as out:
                    json.dump(known, out)
        for path in folder.rglob("*"):
            if path.is_file() and path.relative_to(folder).as_posix() not in there:
                path.unlink()
    call(folder, url.rstrip("/"))
    return folder


def _copy(url: str, home: Path, target: Path, now: remote.RemoteFile) -> None:
    part = home / f"{hashlib.sha256(f'{url} {now.version}'.encode()).hexdigest()[:32]}.part"
    remote.download(url, part, now)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.replace(target)

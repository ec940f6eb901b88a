"""Hashes of files, each of which is read only once unless it changes."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path

from irtoolkit.base.files import sha256
from irtoolkit.base.home import cache_home

# A file that changed within this time may change again without a new time stamp (git calls such a
# file racy), so its hash is not remembered.
_SETTLED_SECONDS = 2.0


def content_hash(path: Path) -> str:
    """Returns the SHA-256 of a file, cached while its size and time stamps are unchanged."""
    status = path.stat()
    stamp = f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}\0{status.st_ino}"
    memo = cache_home() / "hashes" / hashlib.sha256(stamp.encode()).hexdigest()
    with suppress(OSError, UnicodeDecodeError):
        stored = memo.read_text()
        if len(stored) == 64:
            return stored
    digest = sha256(path)
    if time.time() - max(status.st_mtime, status.st_ctime) > _SETTLED_SECONDS:
        with suppress(OSError):
            memo.parent.mkdir(parents=True, exist_ok=True)
            memo.write_text(digest)
    return digest

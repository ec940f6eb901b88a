"""Names of files that become another one when complete, and removal of killed processes' files."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import socket
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from irtoolkit.base.paths import hidden_beside

# Of a machine, of a process there, and of chance.
_NAME = re.compile(r"\..+\.([0-9a-f]{6})([0-9a-f]{6})[0-9a-f]{8}\.tmp", re.DOTALL)
_END = len(".0123456789abcdef0123.tmp")
# Folders that this process has looked through.
_SEEN: set[str] = set()


def temporary_name(target: Path) -> Path:
    """Returns a name beside `target` that no other process has; it says which process that is."""
    process = os.getpid() & 0xFFFFFF
    return hidden_beside(target, f".{_machine()}{process:06x}{secrets.token_hex(4)}.tmp")


def begin_beside(target: Path) -> Path:
    """Returns a name as of `temporary_name`, after killed processes' files there are removed."""
    remove_of_the_gone(target.parent)
    return temporary_name(target)


def is_temporary(path: Path) -> bool:
    """Returns whether a file or folder has a name of `temporary_name`."""
    return _NAME.fullmatch(path.name) is not None


def remove_abandoned(target: Path) -> None:
    """Removes the files that killed writers of a file left beside it; none may be writing now."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        if is_temporary(path) and path.name[1:-_END] == target.name:
            with suppress(OSError):
                path.unlink()


def remove_of_the_gone(folder: Path) -> None:
    """Removes what processes of this machine that have ended left in a folder.

    This happens once for each folder, before this process writes to it: the same command, run
    again, clears the leftovers of a killed one.
    """
    absolute = os.path.abspath(folder)
    if absolute in _SEEN or os.name == "nt":  # where nothing asks after a process without ending it
        return
    with suppress(OSError), os.scandir(absolute) as entries:
        _SEEN.add(absolute)
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match is None or match[1] != _machine() or not _is_gone(int(match[2], 16)):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)


@cache
def _machine() -> str:
    """Returns six digits for the scope of process numbers: this machine, or a container on it."""
    words = [socket.gethostname()]
    # Copies of a machine have its name, and those who start together its numbers of processes.
    with suppress(OSError):
        words.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        words.append(os.readlink("/proc/self/ns/pid"))
    return sha256("\n".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:6]


def _is_gone(process: int) -> bool:
    """Returns whether no process has a number; one of another user has it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False

"""Names of files that become another one when they are complete, and what killed processes leave of them."""

from __future__ import annotations

import glob
import re
import secrets
from contextlib import suppress
from pathlib import Path

from irtoolkit.base.paths import hidden_beside


def temporary_name(target: Path) -> Path:
    """A name beside `target` that no other process has; process numbers differ on one machine only."""
    return hidden_beside(target, f".{secrets.token_hex(8)}.tmp")


def is_temporary(path: Path) -> bool:
    """Whether a file or folder has a name of `temporary_name`."""
    return re.fullmatch(r"\..+\.[0-9a-f]{16}\.tmp", path.name) is not None


def remove_abandoned(target: Path) -> None:
    """Removes what killed writers of a file have left beside it; nobody may be writing it now."""
    end = ".0123456789abcdef.tmp"
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        if is_temporary(path) and path.name[1 : -len(end)] == target.name:
            with suppress(OSError):
                path.unlink()

"""The error for a file that is not there."""

from __future__ import annotations

from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import nearest
from irtoolkit.base.paths import StrPath, on_disk


def no_such_file(path: StrPath) -> InputError:
    """The error for a path without a file; its remedy names the one in the folder that is most like it."""
    place = on_disk(path)
    near = nearest(place.name, _names(place.parent), 1)
    remedy = f"did you mean {place.with_name(near[0])}?" if near else None
    return InputError("no such file", file=path, remedy=remedy)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []

"""The error for a file that is not there."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import nearest
from irtoolkit.base.paths import StrPath, on_disk

# Files of a folder whose names are compared: 10,000 take less than a second.
_MANY = 10_000


def no_such_file(path: StrPath) -> InputError:
    """Returns the error for a missing file; its remedy names the most similar one in the folder."""
    local_path = on_disk(path)
    near = _most_alike(local_path)
    return InputError("no such file", file=path, remedy=f"did you mean {near}?" if near else None)


def _most_alike(path: Path) -> Path | None:
    """Returns the file with the stem most like that of a path; an equal suffix comes first."""
    others = _files(path.parent)
    for names in ([other for other in others if other.suffix == path.suffix], others):
        by_stem = {other.stem: other for other in names}
        for stem in nearest(path.stem, by_stem, 1):
            return by_stem[stem]
    return None


def _files(folder: Path) -> list[Path]:
    """Returns the visible files of a folder; [] if there are too many to compare all names."""
    try:
        entries = list(islice(folder.iterdir(), _MANY + 1))
    except OSError:
        return []
    if len(entries) > _MANY:
        return []
    return sorted(path for path in entries if not path.name.startswith("."))

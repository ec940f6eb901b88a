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
    place = on_disk(path)
    near = _most_alike(place)
    return InputError("no such file", file=path, remedy=f"did you mean {near}?" if near else None)


def _most_alike(place: Path) -> Path | None:
    """Returns the file with the stem most like that of a path; an equal suffix comes first."""
    others = _files(place.parent)
    for known in ([one for one in others if one.suffix == place.suffix], others):
        by_stem = {one.stem: one for one in known}
        for stem in nearest(place.stem, by_stem, 1):
            return by_stem[stem]
    return None


def _files(folder: Path) -> list[Path]:
    """Returns the visible files of a folder; [] if there are too many to compare all names."""
    try:
        found = list(islice(folder.iterdir(), _MANY + 1))
    except OSError:
        return []
    if len(found) > _MANY:
        return []
    return sorted(path for path in found if not path.name.startswith("."))

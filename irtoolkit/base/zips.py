"""Archives of one file."""

from __future__ import annotations

import zipfile
from typing import IO

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath

# Flag of a member of a .zip that a password protects.
_ENCRYPTED = 1
# A file that every workbook has.
_WORKBOOK = "[Content_Types].xml"


def opened_zip(path: StrPath) -> tuple[IO[bytes], zipfile.ZipInfo]:
    """Opens the one file of an archive; files that macOS adds to archives are ignored.

    Returns:
        The opened file, and its entry, whose size zipfile does not read beyond.
    """
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("/", ".DS_Store"))]
        names = [name for name in names if not name.startswith("__MACOSX/")]
        if _WORKBOOK in names:
            raise InputError(
                "the file is an Office document, and text is expected",
                file=path,
                remedy="save the sheet as text: tab-separated, UTF-8 or Unicode",
            )
        if len(names) != 1:
            raise InputError(
                f"the archive has {len(names)} files, not one",
                file=path,
                remedy="unpack it, and give the file that is meant",
            )
        entry = archive.getinfo(names[0])
        if entry.flag_bits & _ENCRYPTED:
            raise InputError(
                "the archive has a password", file=path, remedy="unpack it, and give the file"
            )
        # The member keeps the archive open for itself.
        return archive.open(names[0]), entry

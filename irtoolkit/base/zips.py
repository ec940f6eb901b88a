"""Archives of one file."""

from __future__ import annotations

import io
import zipfile
from typing import IO, cast

from irtoolkit.base.errors import InputError
from irtoolkit.base.packed import refuse_ratio
from irtoolkit.base.paths import StrPath

# Flag of a member of a .zip that a password protects.
_ENCRYPTED = 1


def opened_zip(path: StrPath) -> IO[bytes]:
    """The one file of an archive; what macOS adds to archives is not counted."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("/", ".DS_Store"))]
        names = [name for name in names if not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise InputError(
                f"the archive has {len(names)} files, not one",
                file=path,
                remedy="unpack it, and give the file that is meant",
            )
        if archive.getinfo(names[0]).flag_bits & _ENCRYPTED:
            raise InputError(
                "the archive has a password", file=path, remedy="unpack it, and give the file"
            )
        member = archive.getinfo(names[0])  # zipfile reads no more than the size that stands here
        refuse_ratio(path, member.file_size, member.compress_size)
        # The member keeps the archive open for itself.
        return cast(IO[bytes], io.BufferedReader(cast(io.RawIOBase, archive.open(names[0]))))

"""The error for an index whose files cannot be used."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any

from irtoolkit.base.errors import InputError


class DamagedIndexError(InputError):
    """Files of an index that are missing, damaged or of another format; to be built again."""

    def __init__(self, found: str, *, file: str | PathLike[str]) -> None:
        super().__init__(found, file=file, remedy="build the index again with --replace")

    def __reduce__(self) -> Any:
        # Workers send it to the driver.
        return partial(DamagedIndexError, file=self.file or ""), (self.found,)

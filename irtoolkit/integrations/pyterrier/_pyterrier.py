"""PyTerrier itself, or the error that says how to install it."""

from __future__ import annotations

import re

from irtoolkit.base.errors import needs_extra

try:
    import pandas as pd
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise needs_extra(error.name or "pyterrier", "pyterrier") from None

Frame = pd.DataFrame

__all__ = ["Frame", "Named", "pd", "pt"]


# What PyTerrier takes in no name of a file.
_NOT_IN_FILES = re.compile(r'[:"%/\\<>^|?]')


class Named:
    """A transformer whose text is its name in pt.Experiment, and in files of `save_dir`."""

    def __str__(self) -> str:
        return _NOT_IN_FILES.sub(".", repr(self))

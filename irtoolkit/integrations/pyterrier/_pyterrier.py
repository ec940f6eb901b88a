"""PyTerrier itself, or the error that says how to install it."""

from __future__ import annotations

from irtoolkit.base.errors import needs_extra

try:
    import pandas as pd
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise needs_extra(error.name or "pyterrier", "pyterrier") from None

Frame = pd.DataFrame

__all__ = ["Frame", "pd", "pt"]

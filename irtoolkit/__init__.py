"""irtoolkit: retrieval where words do not overlap.

Importing this package makes its collections known to ir_datasets and its measures to
ir_measures, whenever those are imported; it imports nothing heavy itself.
"""

from __future__ import annotations

from importlib import import_module, metadata

from irtoolkit.base.errors import InputError
from irtoolkit.base.hooks import after_import

# Importing either package registers what it holds, at the end of its own import: so this is right
# too where it is ours that imports ir_datasets or ir_measures first.
after_import("ir_datasets", lambda: import_module("irtoolkit.datasets"))
after_import("ir_measures", lambda: import_module("irtoolkit.measures"))

try:
    __version__ = metadata.version("irtoolkit")
except metadata.PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = ["InputError", "__version__"]

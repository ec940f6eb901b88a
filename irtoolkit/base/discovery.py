"""Finding the members of a package, so that a new one is one new file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def modules(package: ModuleType) -> list[ModuleType]:
    """The public modules and packages directly inside a package, imported, in order of name."""
    return [
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
    ]

"""Finding the members of a package, so that a new one is one new file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def names(package: ModuleType) -> list[str]:
    """Returns the sorted names of a package's public modules and packages, not imported."""
    modules = (info.name for info in pkgutil.iter_modules(package.__path__))
    return [name for name in modules if not name.startswith("_")]


def modules(package: ModuleType) -> list[ModuleType]:
    """Returns the public modules and packages directly inside a package, imported, sorted."""
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names(package)]

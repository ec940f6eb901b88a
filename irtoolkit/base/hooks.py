"""Callbacks that run right after another package has been imported.

ir_datasets takes most of half a second to import. `import irtoolkit` makes our collections known to
it without importing it: they are registered as soon as somebody imports ir_datasets.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _AfterImport(importlib.abc.MetaPathFinder):
    def __init__(
        self, name: str, action: Callable[[], object], again: Callable[[], bool] | None
    ) -> None:
        self._name, self._action, self._again, self._searching = name, action, again, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            try:
                execute(module)
            except OSError:
                if module.__name__ != self._name or self._again is None or not self._again():
                    raise
                for part in [
                    imported for imported in sys.modules if imported.startswith(f"{self._name}.")
                ]:
                    del sys.modules[part]
                execute(module)
            # A zip file has one loader for all its modules.
            if module.__name__ == self._name and self in sys.meta_path:
                sys.meta_path.remove(self)
                self._action()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def after_import(
    name: str, action: Callable[[], object], *, again: Callable[[], bool] | None = None
) -> None:
    """Calls `action` once the package `name` is imported: now, if it already is.

    Args:
        name: the package.
        action: what is called.
        again: called if the operating system refuses something that the import does; returns whether
            it has fixed that, so that the import is tried once more.
    """
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _AfterImport(name, action, again))

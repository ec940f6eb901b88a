"""Retrievers by name: those in this package, and those that other packages bring.

A module of this package is imported when one of its retrievers is asked for, since some import
libraries that take seconds. A plugin is an entry point of the group `irtoolkit.retrievers`, from
the retriever's name to its class.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from irtoolkit.base import plugins
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.retrievers.base import Retriever


class _Retrievers(Mapping[str, type[Retriever]]):
    """Retrievers by name. Looking one up imports its module, iterating imports all."""

    def __getitem__(self, name: str) -> type[Retriever]:
        """The class of a name.

        Raises:
            KeyError: there is no such retriever.
            InputError: a plugin that cannot be imported, or is not a retriever.
        """
        retriever = _own(name)
        if retriever is not None:
            return retriever
        return _brought(plugins.of_group(plugins.RETRIEVERS)[name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            _own(name) is not None or name in plugins.of_group(plugins.RETRIEVERS)
        )

    def __iter__(self) -> Iterator[str]:
        """All names but those of plugins that cannot be imported, which a warning tells."""
        package = sys.modules[__package__]
        ours = [name for module in modules(package) for name in _declared(module)]
        yield from ours
        for name, _ in plugins.each(plugins.RETRIEVERS, _brought):
            if name not in ours:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)


def retrievers() -> Mapping[str, type[Retriever]]:
    """Every retriever by name, imported when it is looked up."""
    return _Retrievers()


def create_retriever(name: str, settings: Mapping[str, Any]) -> Retriever:
    """A retriever by name.

    Raises:
        InputError: no such retriever, or a setting that it does not have or of another type.
    """
    classes = retrievers()
    if name not in classes:
        raise InputError(
            f"no retriever {name!r}",
            remedy=f"{did_you_mean(name, classes)}there are {', '.join(classes)}",
        )
    return classes[name].with_settings(settings)


def _declared(module: ModuleType) -> dict[str, type[Retriever]]:
    """The retrievers that a module or a package defines, by name."""
    return {
        value.name: value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Retriever)
        and f"{value.__module__}.".startswith(f"{module.__name__}.")
        # A name that is only inherited is that of another class.
        and vars(value).get("name")
    }


@cache
def _own(name: str) -> type[Retriever] | None:
    """The class of this package that has a name, or None.

    Only modules that write the name in quotes are imported, those that give it to a class first.
    """
    literal = re.escape(name)
    quoted = re.compile(f"[\"']{literal}[\"']")
    declaration = re.compile(f"\\bname\\b[^=\n]*=\\s*[\"']{literal}[\"']")
    likely = [path for path, text in _sources().items() if text is None or quoted.search(text)]
    likely.sort(key=lambda path: not declaration.search(_sources()[path] or ""))
    for path in likely:
        retriever = _declared(importlib.import_module(path)).get(name)
        if retriever is not None:
            return retriever
    return None


@cache
def _sources() -> dict[str, str | None]:
    """The text of each public module or package here; None where only compiled code is installed."""
    package = sys.modules[__package__]
    return {
        f"{__package__}.{info.name}": _source(info.module_finder, info.name)
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_")
    }


def _source(finder: Any, name: str) -> str | None:
    path = Path(getattr(finder, "path", ""), name)
    files = sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    try:
        return "\n".join(file.read_text("utf-8") for file in files) or None
    except OSError:
        return None


def _brought(plugin: plugins.Plugin) -> type[Retriever]:
    """The class of a plugin.

    Raises:
        InputError: it cannot be imported, is not a retriever, or has another name.
    """
    loaded = plugin.load()
    problem = None
    if not (isinstance(loaded, type) and issubclass(loaded, Retriever)):
        problem = f"is {loaded!r}, which is not a subclass of Retriever"
    elif loaded.name != plugin.name:
        problem = f"calls itself {loaded.name!r}"
    if problem is not None:
        raise InputError(
            f"the retriever {plugin.name!r} of the package {plugin.distributions[0]} {problem}",
            remedy="an entry point is the name of a Retriever subclass and the place of the class",
        )
    return loaded  # type: ignore[no-any-return]

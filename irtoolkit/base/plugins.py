"""Members that other installed packages add to irtoolkit, through entry points.

A package declares, in its pyproject.toml, the group and the name of what it adds:

    [project.entry-points."irtoolkit.retrievers"]
    my-retriever = "my_package.module:MyRetriever"

A plugin is imported only when it is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from irtoolkit.base.errors import InputError

RETRIEVERS = "irtoolkit.retrievers"
MEASURES = "irtoolkit.measures"
DATASETS = "irtoolkit.datasets"
TABLES = "irtoolkit.tables"
COMMANDS = "irtoolkit.commands"
SYSTEMS = "irtoolkit.systems"
ENGINES = "irtoolkit.engines"
ANALYSES = "irtoolkit.analyses"
GROUPS = (RETRIEVERS, MEASURES, DATASETS, TABLES, COMMANDS, SYSTEMS, ENGINES, ANALYSES)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package.

    Attributes:
        name: the member's name in irtoolkit.
        group: one of `GROUPS`.
        value: the object, as module:object.
        distributions: the installed packages that declare this name, which should be one.
    """

    name: str
    group: str
    value: str
    distributions: tuple[str, ...]

    def load(self) -> Any:
        """Imports the object.

        Raises:
            InputError: the import fails, or several packages declare the name.
        """
        members = self.group.rpartition(".")[2]
        kind = "analysis" if self.group == ANALYSES else members.removesuffix("s")
        if len(self.distributions) > 1:
            raise InputError(
                f"the {kind} {self.name!r} is declared by {' and '.join(self.distributions)}",
                remedy="uninstall all of these packages but one",
            )
        from importlib import metadata

        entry = metadata.EntryPoint(self.name, self.value, self.group)
        try:
            return entry.load()
        except Exception as error:  # anything may happen in another package's modules
            reason = " ".join(str(error).split())
            raise InputError(
                f"the {kind} {self.name!r} of the package {self.distributions[0]} cannot be"
                f" imported: {type(error).__name__}: {reason}",
                remedy=f"upgrade or uninstall {self.distributions[0]}",
            ) from error


@cache
def of_group(group: str) -> dict[str, Plugin]:
    """Returns the plugins of a group by name, sorted, without importing them."""
    from importlib import metadata  # which takes a while to import itself

    plugins_by_name: dict[str, Plugin] = {}
    for entry in sorted(metadata.entry_points(group=group), key=lambda entry: entry.name):
        distribution = entry.dist.name if entry.dist is not None else "an unknown package"
        earlier = plugins_by_name.get(entry.name)
        owners = (*earlier.distributions, distribution) if earlier else (distribution,)
        # One package may be found twice, as an editable install in its own source folder is.
        owners = tuple(dict.fromkeys(owners))
        plugins_by_name[entry.name] = Plugin(entry.name, group, entry.value, owners)
    return plugins_by_name


def each(group: str, load: Callable[[Plugin], Any] = Plugin.load) -> Iterator[tuple[str, Any]]:
    """Yields the names and objects of a group's plugins.

    Args:
        group: one of `GROUPS`.
        load: makes the object of a plugin. If it raises an InputError the plugin is left out,
            with a warning in the log, so that a broken package breaks nothing else.
    """
    for name, plugin in of_group(group).items():
        try:
            member = load(plugin)
        except InputError as error:
            _log.warning("%s", error)
            continue
        yield name, member

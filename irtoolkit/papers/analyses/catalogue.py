"""The analyses by name: a module of this package with a subclass of `Analysis` adds one.

Another package adds one with an entry point; see `irtoolkit.base.plugins`.
"""

from __future__ import annotations

import sys
from functools import cache

from irtoolkit.base import plugins
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.papers.analyses.base import Analysis


@cache
def analyses() -> dict[str, type[Analysis]]:
    """Returns every analysis by name; of two with the same name, irtoolkit's own."""
    members = {
        value.name: value
        for module in modules(sys.modules[__package__])
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Analysis)
        and value.__module__ == module.__name__
        and "name" in vars(value)
    }
    return {**dict(plugins.each(plugins.ANALYSES, _of_plugin)), **members}


def _of_plugin(plugin: plugins.Plugin) -> type[Analysis]:
    """Returns the analysis of another package.

    Raises:
        InputError: it cannot be imported, or does not have the declared name.
    """
    member = plugin.load()
    if not (isinstance(member, type) and issubclass(member, Analysis)):
        raise InputError(
            f"the analysis {plugin.name!r} of the package {plugin.distributions[0]} is no subclass"
            " of irtoolkit.papers.analyses.base.Analysis"
        )
    if getattr(member, "name", None) != plugin.name:
        raise InputError(
            f"the analysis {plugin.name!r} of the package {plugin.distributions[0]} has another"
            f" name: {getattr(member, 'name', None)!r}"
        )
    return member


def find_analysis(name: str) -> type[Analysis]:
    """Returns an analysis by name.

    Raises:
        InputError: there is no such analysis; names the nearest ones.
    """
    members = analyses()
    if name not in members:
        raise InputError(
            f"no analysis {name!r}",
            remedy=f"{did_you_mean(name, members)}irtoolkit analyse --list lists them",
        )
    return members[name]

"""The measures of irtoolkit, one module each.

Every module here that has a `ColumnarMeasure` instance is a measure, and so is every entry point of
the group `irtoolkit.measures`. Importing this package registers them with ir_measures, so that
parsing, `calc` and `pt.Experiment` know them.
"""

from __future__ import annotations

import sys
from typing import Any

import ir_measures

from irtoolkit.base import plugins
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError
from irtoolkit.measures.base import ColumnarMeasure, ColumnarProvider

for _module in modules(sys.modules[__name__]):
    for _value in list(vars(_module).values()):
        if isinstance(_value, ColumnarMeasure):
            ir_measures.measures.register(_value)


def _brought(plugin: plugins.Plugin) -> ColumnarMeasure:
    """Returns the measure of another package."""
    member = plugin.load()
    if isinstance(member, ColumnarMeasure):
        return member
    raise InputError(
        f"the measure {plugin.name!r} of the package {plugin.distributions[0]} is a"
        f" {type(member).__name__}",
        remedy="its entry point names an instance of a ColumnarMeasure subclass",
    )


for _, _value in plugins.each(plugins.MEASURES, _brought):
    ir_measures.measures.register(_value)

# `calc` uses the default pipeline, which does not read the registry of providers.
ir_measures.DefaultPipeline.providers.append(ir_measures.providers.register(ColumnarProvider()))


def __getattr__(name: str) -> Any:
    """The measures by name, those of ir_measures among them: `from irtoolkit.measures import nDCGp`."""
    registry = ir_measures.measures.registry
    if name not in registry:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry[name]

"""The measures of irtoolkit, one module each.

Every module here that has a `ColumnarMeasure` instance is a measure. Importing this package
registers them with ir_measures, so that parsing, `calc` and `pt.Experiment` know them.
"""

from __future__ import annotations

import sys

import ir_measures

from irtoolkit.base.discovery import modules
from irtoolkit.measures.base import ColumnarMeasure, ColumnarProvider

for _module in modules(sys.modules[__name__]):
    for _value in list(vars(_module).values()):
        if isinstance(_value, ColumnarMeasure):
            ir_measures.measures.register(_value)

# `calc` uses the default pipeline, which does not read the registry of providers.
ir_measures.DefaultPipeline.providers.append(ir_measures.providers.register(ColumnarProvider()))

"""irtoolkit's measures.

A measure is a module here with a ColumnarMeasure instance. Importing this package makes them all
known to ir_measures: to parsing, `calc` and `pt.Experiment`.
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

# `calc` asks the default pipeline, which knows nothing of the registry of providers.
ir_measures.DefaultPipeline.providers.append(ir_measures.providers.register(ColumnarProvider()))

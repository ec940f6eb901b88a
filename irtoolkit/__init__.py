"""irtoolkit: retrieval where words do not overlap.

    import irtoolkit as ir

    data = ir.load("csfcube/sample")
    bm25 = ir.retrieve(data, "bm25")
    ir.evaluate(data, bm25)

The names below load what they need when they are used. `import irtoolkit.datasets` registers the
collections with ir_datasets, and `import irtoolkit.measures` the measures with ir_measures.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from irtoolkit.version import __version__ as __version__

if TYPE_CHECKING:
    from irtoolkit.api import compare as compare
    from irtoolkit.api import evaluate as evaluate
    from irtoolkit.api import export as export
    from irtoolkit.api import fuse as fuse
    from irtoolkit.api import index as index
    from irtoolkit.api import load as load
    from irtoolkit.api import open_index as open_index
    from irtoolkit.api import report as report
    from irtoolkit.api import rerank as rerank
    from irtoolkit.api import retrieve as retrieve
    from irtoolkit.api import tune_fusion as tune_fusion
    from irtoolkit.base.errors import InputError as InputError
    from irtoolkit.datasets.dataset import Dataset as Dataset
    from irtoolkit.engines.choose import engine as engine
    from irtoolkit.papers.analyses.analyse import analyse as analyse
    from irtoolkit.retrievers.index import Index as Index
    from irtoolkit.runs import Qrels as Qrels
    from irtoolkit.runs import Run as Run
    from irtoolkit.scoring.score import Scores as Scores


# Loops that numba compiles are cached beside their modules, or in the user's cache.
if not os.access(__path__[0], os.W_OK):
    import_module("irtoolkit.base.temporary_home").instead_of_cache()

# Name to the module that has it.
_FRONT = {
    **dict.fromkeys(
        (
            "load",
            "index",
            "open_index",
            "retrieve",
            "rerank",
            "fuse",
            "tune_fusion",
            "evaluate",
            "compare",
            "report",
            "export",
        ),
        "irtoolkit.api",
    ),
    "analyse": "irtoolkit.papers.analyses.analyse",
    "InputError": "irtoolkit.base.errors",
    "Dataset": "irtoolkit.datasets.dataset",
    "Index": "irtoolkit.retrievers.index",
    "engine": "irtoolkit.engines.choose",
    "Qrels": "irtoolkit.runs",
    "Run": "irtoolkit.runs",
    "Scores": "irtoolkit.scoring.score",
}

__all__ = ["__version__", *_FRONT]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _FRONT:
        value = getattr(import_module(_FRONT[name]), name)
    else:
        raise AttributeError(f"module 'irtoolkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""irtoolkit: retrieval where words do not overlap.

    import irtoolkit as ir

    data = ir.load("csfcube/sample")
    bm25 = ir.retrieve(data, "bm25")
    ir.evaluate(data, bm25)

Importing this package makes its collections known to ir_datasets and its measures to ir_measures,
whenever those are imported; the names below load what they need when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from irtoolkit.base.hooks import after_import
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


# Importing either package registers what it holds, at the end of its own import: so this is right
# too where it is ours that imports ir_datasets or ir_measures first.
# Where a home cannot be written, ir_datasets and numba get a folder of this process.
after_import(
    "ir_datasets",
    lambda: import_module("irtoolkit.datasets"),
    again=lambda: import_module("irtoolkit.base.temporary_home").instead_of_home(),
)
after_import("numba", lambda: import_module("irtoolkit.base.temporary_home").instead_of_cache())
after_import("ir_measures", lambda: import_module("irtoolkit.measures"))

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

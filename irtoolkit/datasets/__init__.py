"""The benchmarks as ir_datasets collections.

A benchmark is a module here with a `register` function. Importing this package registers them
all; no file is opened.
"""

from __future__ import annotations

import sys

import ir_datasets

from irtoolkit.base.discovery import modules

_registered: list[str] = []


def dataset_ids() -> list[str]:
    """The ids that irtoolkit has registered."""
    return list(_registered)


def _add(dataset_id: str, dataset: ir_datasets.Dataset) -> None:
    ir_datasets.registry.register(dataset_id, dataset)
    _registered.append(dataset_id)


for _module in modules(sys.modules[__name__]):
    if hasattr(_module, "register"):
        _module.register(_add)

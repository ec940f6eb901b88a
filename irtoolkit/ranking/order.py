"""Datasets, systems and runs that are given in each other's place."""

from __future__ import annotations

from typing import Any

from irtoolkit.datasets.recognise import is_dataset
from irtoolkit.models.presets import preset_name
from irtoolkit.ranking.systems import KNOWN_AS, System
from irtoolkit.retrievers import retrievers
from irtoolkit.runs.recognise import is_run


def is_system(given: Any) -> bool:
    """Whether something is a system, or the name of a retriever or of a known model."""
    if not isinstance(given, str):
        return isinstance(given, System)
    return given in retrievers() or given in KNOWN_AS or preset_name(given) is not None


def dataset_then_system(data: Any, system: Any) -> tuple[Any, Any]:
    """Returns a dataset, or documents, and a system in this order.

    They are swapped if the first is a system and no dataset, and the second is data and no system.
    """
    if not is_system(data) or is_system(system) or is_dataset(data):
        return data, system
    is_data = system is not None and (not isinstance(system, str) or is_dataset(system))
    return (system, data) if is_data else (data, system)


def in_reranking_order(data: Any, run: Any, system: Any) -> tuple[Any, Any, Any]:
    """Returns a dataset, a run and a system in this order, if there is one of each."""
    given = (data, run, system)
    runs = [one for one in given if is_run(one)]
    systems = [one for one in given if is_system(one)]
    rest = [one for one in given if not is_run(one) and not is_system(one)]
    if len(runs) == len(systems) == len(rest) == 1:
        return rest[0], runs[0], systems[0]
    return given

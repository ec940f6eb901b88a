"""Datasets, systems and runs that are given in each other's place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irtoolkit.datasets.recognise import is_dataset, log_order, name_of
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.system_names import general_name
from irtoolkit.runs.recognise import is_run


def is_system(value: Any) -> bool:
    """Whether something is a system, or the name of a retriever or of a known model."""
    if not isinstance(value, str):
        return isinstance(value, System)
    return general_name(value) is not None


def dataset_then_system(
    data: Any, system: Any, say: Callable[[str], None] = log_order
) -> tuple[Any, Any]:
    """Returns a dataset, or documents, and a system in this order.

    They are swapped if the first is a system and no dataset, and the second is data and no system;
    `say` receives a line about it.
    """
    if not is_system(data) or is_system(system) or is_dataset(data):
        return data, system
    is_data = system is not None and (not isinstance(system, str) or is_dataset(system))
    if not is_data:
        return data, system
    say(f"{name_of(system)} is taken for the dataset, and {name_of(data)} for the system")
    return system, data


def in_reranking_order(
    data: Any, run: Any, system: Any, say: Callable[[str], None] = log_order
) -> tuple[Any, Any, Any]:
    """Returns a dataset, a run and a system in this order, if there is one of each.

    A dataset with the name of a system stays in first place. `say` receives a line about another order.
    """
    arguments = (data, run, system)
    if is_system(data) and is_dataset(data):
        return arguments
    runs = [value for value in arguments if is_run(value)]
    systems = [value for value in arguments if is_system(value)]
    rest = [value for value in arguments if not is_run(value) and not is_system(value)]
    if not len(runs) == len(systems) == len(rest) == 1:
        return arguments
    ordered = (rest[0], runs[0], systems[0])
    if any(value is not argument for value, argument in zip(ordered, arguments, strict=True)):
        data, run, system = map(name_of, ordered)
        say(f"{data} is taken for the dataset, {run} for the run, and {system} for the system")
    return ordered

"""The settings that a system takes by default for a dataset: those of its language, its instruction."""

from __future__ import annotations

from dataclasses import replace

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import System


def for_dataset(system: System, dataset: Dataset) -> System:
    """Returns the system with the settings that it takes by default for a dataset."""
    fitted, instruction = system.on(dataset.lang), instruction_of(dataset)
    if instruction is None:
        return fitted
    first = None if system.first is None else for_dataset(system.first, dataset)
    return replace(fitted, retriever=fitted.retriever.instructed(instruction), first=first)


def instruction_of(dataset: Dataset) -> str | None:
    """Returns what a dataset says that its queries are for; None if it says nothing.

    {instruction} stands for that field of each query's record.
    """
    first = next(iter(dataset.queries_iter()), None) if dataset.has("queries") else None
    return "{instruction}" if first is not None and "instruction" in first._fields else None

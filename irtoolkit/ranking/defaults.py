"""The settings that a system takes by default for a dataset: those of its language, its instruction."""

from __future__ import annotations

from dataclasses import replace

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import System


def for_dataset(system: System, dataset: Dataset) -> System:
    """Returns the system with the settings that it takes by default for a dataset."""
    first = None if system.first is None else for_dataset(system.first, dataset)
    retriever = system.retriever.on(dataset.lang).fitted(dataset)
    return replace(system, retriever=retriever, first=first)

"""The sources of training rows, one module each. SOURCES has them by name."""

from __future__ import annotations

from irtoolkit.training.sources.base import RowSource
from irtoolkit.training.sources.extended import ExtendedSource
from irtoolkit.training.sources.files import ExampleSource, TripleSource
from irtoolkit.training.sources.surroundings import SurroundingsSource

SOURCES: dict[str, type[RowSource]] = {
    "dataset": ExtendedSource,
    "examples": ExampleSource,
    "triples": TripleSource,
    "surroundings": SurroundingsSource,
}

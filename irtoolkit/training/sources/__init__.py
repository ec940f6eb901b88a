"""The sources of training rows, one module each. SOURCES has them by name."""

from __future__ import annotations

from irtoolkit.training.sources.base import RowSource
from irtoolkit.training.sources.examples import ExampleSource
from irtoolkit.training.sources.extended import ExtendedSource
from irtoolkit.training.sources.surroundings import SurroundingsSource
from irtoolkit.training.sources.triples import TripleSource

SOURCES: dict[str, type[RowSource]] = {
    "dataset": ExtendedSource,
    "examples": ExampleSource,
    "triples": TripleSource,
    "surroundings": SurroundingsSource,
}

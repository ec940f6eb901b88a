"""All inputs of the table."""

from __future__ import annotations

from collections.abc import Iterator

from tests.inputs import arguments, asked, builders, files, lines
from tests.inputs.case import Case


def all_cases() -> Iterator[Case]:
    """The inputs in order; their names within a kind differ."""
    yield from files.cases()
    yield from asked.cases()
    yield from arguments.cases()
    yield from lines.cases()
    yield from builders.cases()

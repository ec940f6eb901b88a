"""Licences that allow data to be published again."""

from __future__ import annotations

from typing import NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.benchmark import NOT_STATED, Benchmark

# Licences that allow to publish a copy, by the names that the Hugging Face hub has for them, and
# what they ask of it.
NAMED = "name the authors"
NON_COMMERCIAL = f"{NAMED}; not for commercial use"
ALIKE = f"{NAMED}; keep the licence"
OPEN = {
    "apache-2.0": "keep the licence",
    "mit": "keep the licence",
    "cc0-1.0": "no condition",
    "pddl": "no condition",
    "unlicense": "no condition",
    "odc-by": NAMED,
    "cc-by-2.0": NAMED,
    "cc-by-3.0": NAMED,
    "cc-by-4.0": NAMED,
    "cc-by-sa-3.0": ALIKE,
    "cc-by-sa-4.0": ALIKE,
    "cc-by-nc-2.0": NON_COMMERCIAL,
    "cc-by-nc-3.0": NON_COMMERCIAL,
    "cc-by-nc-4.0": NON_COMMERCIAL,
    "cc-by-nc-sa-3.0": f"{NON_COMMERCIAL}; keep the licence",
    "cc-by-nc-sa-4.0": f"{NON_COMMERCIAL}; keep the licence",
}
UNKNOWN = "unknown"


class Licence(NamedTuple):
    """The licence of exported data.

    Attributes:
        id: the hub's name of the licence; "unknown" if no known licence allows a copy.
        said: the benchmark's words, or that the user has named the licence.
    """

    id: str
    said: str

    @property
    def open(self) -> bool:
        """Whether a copy may be published."""
        return self.id in OPEN

    @property
    def line(self) -> str:
        """The conditions for use of the data, in one or two sentences."""
        if self.open:
            return f"A copy may be published under {self.id}: {OPEN[self.id]}."
        return (
            f"No licence is known that allows to publish these texts (the licence: {self.said})."
            " Keep this folder to yourself. Ids and judgments alone hold no texts."
        )


def licence_of(benchmark: Benchmark | None, override: str | None = None) -> Licence:
    """Returns the licence of a dataset, or the one that the user names for it.

    Raises:
        InputError: the user names one that is not known to allow a copy.
    """
    if override is not None:
        if override not in OPEN:
            raise InputError(
                f"no licence {override!r}",
                remedy=f"{did_you_mean(override, OPEN)}licences that allow a copy: {', '.join(OPEN)}",
            )
        return Licence(override, "named at the export")
    statement = NOT_STATED if benchmark is None else benchmark.licence
    key = statement.lower().replace(" ", "-")
    return Licence(key if key in OPEN else UNKNOWN, statement)

"""Agreement of annotators before and after adjudication, as in the paper's Table 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import write_json
from irtoolkit.base.tables import TextTable
from irtoolkit.building.csfcube.labels import Ratings
from irtoolkit.building.csfcube.tsv import Pair
from irtoolkit.datasets.csfcube_records import AFTER, AGREEMENT, BEFORE, FACETS
from irtoolkit.scoring.agreement import STATISTICS, agreement, agreement_with, medians

# Facet and stage to ρ, α, κ and the percentage of equal grades.
Agreement = dict[tuple[str, str], list[float]]
_PLACES = 2


def agreement_of(ratings: Ratings, grades: Mapping[Pair, int] | None = None) -> Agreement:
    """Returns medians over the queries of each facet; an unjudged pair counts as grade 0, as there.

    Args:
        ratings: of two annotators.
        grades: the adjudicated ones; without them there is only the stage before.
    """
    values: Agreement = {}
    for stage in (BEFORE, AFTER) if grades is not None else (BEFORE,):
        for facet in FACETS:
            rows = []
            for query in (query for query in ratings.of_query if query.endswith(f"_{facet}")):
                pairs = [pair for pair in ratings.grades if pair[0] == query]
                first, second = (
                    [max(ratings.grades[pair][n], 0) for pair in pairs] for n in (0, 1)
                )
                rows.append(
                    agreement(first, second)
                    if stage == BEFORE or grades is None
                    else agreement_with(first, second, [grades[pair] for pair in pairs])
                )
            if rows:
                values[facet, stage] = medians(rows)
    return values


def table_of(agreement: Agreement) -> TextTable:
    """Returns the agreement beside the paper's."""
    rows = [
        (
            facet,
            stage,
            *(
                cell
                for pair in zip(map(_defined, values), AGREEMENT[facet, stage], strict=True)
                for cell in pair
            ),
        )
        for (facet, stage), values in agreement.items()
    ]
    headers = [name for statistic in STATISTICS for name in (statistic, f"paper's {statistic}")]
    return TextTable(
        ["facet", "adjudication", *headers],
        rows,
        title="Agreement: medians over queries",
        places=_PLACES,
    )


def _defined(value: float) -> float | None:
    """Returns a figure; None if it is undefined, as when all grades are alike."""
    return None if math.isnan(value) else value


def write_agreement(folder: Path, agreement: Agreement) -> None:
    """Writes agreement.txt and agreement.json."""
    with atomic_text(folder / "agreement.txt") as out:
        out.write(table_of(agreement).to_text(100).rstrip() + "\n")
    records: list[dict[str, Any]] = [
        {
            "facet": facet,
            "adjudication": stage,
            **dict(zip(STATISTICS, map(_defined, values), strict=True)),
            "paper": dict(zip(STATISTICS, AGREEMENT[facet, stage], strict=True)),
        }
        for (facet, stage), values in agreement.items()
    ]
    write_json(folder / "agreement.json", records, indent=1)

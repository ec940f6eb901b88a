"""The loops that weigh the terms of queries; `_compiled_search` has them compiled.

These are for a few queries in a process that has not loaded compiled loops. They read and write arrays
alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Binary digits behind the point of a score, and of the greatest score altogether.
DIGITS, GREATEST = 40, 61
# Terms of a query that are put in order by insertion.
_SORTED = 32


def weigh(starts: Any, numbers: Any, counts: Any, idf: Any, heaviest: float, out: Any) -> None:
    """Weighs the terms of queries, each by itself: what others are scored beside it changes nothing.

    Args:
        starts: (q+1,) where the terms of each query begin.
        numbers, counts: (n,) each term, and how often it occurs in the query, or its weight.
        idf: (t,) the weight of each term.
        heaviest: the greatest weight of a term in a document, without its idf.
        out: (units, totals, negative, scales), to be filled: (q,) what the whole numbers count that
            scores of a query are summed up as, (q,) the sum of the weights, (q,) whether a weight is
            below 0, and (n,) the weight of each term in units.
    """
    units, totals, negative, scales = out
    for query in range(len(starts) - 1):
        total, size, is_negative = 0.0, 0.0, False
        for row in range(starts[query], starts[query + 1]):
            scale = idf[numbers[row]] * counts[row]
            scales[row] = scale
            total += scale
            size += abs(scale)
            is_negative = is_negative or scale < 0
        mantissa, exponent = math.frexp(max(size * heaviest, 1.0))
        # Of a power of two one digit less is before the point.
        digits = min(DIGITS, GREATEST - exponent + (mantissa == 0.5))
        units[query], totals[query] = math.ldexp(1.0, -digits), total
        negative[query] = is_negative
        for row in range(starts[query], starts[query + 1]):
            scales[row] /= units[query]


def place(starts: Any, numbers: Any, scales: Any, places: Any, most: Any, out: Any) -> None:
    """Lists the terms of queries as a shard knows them, each query's in ascending order of bounds.

    Args:
        starts, numbers, scales: see `weigh`; a term whose scale is 0 is left out.
        places: (t,) the number of each term in the shard, or -1.
        most: (t,) the greatest weight of each term in a document, without its idf.
        out: (starts, terms, scales, bounds), to be filled; a bound is the most that a term adds.
    """
    own_starts, terms, own_scales, bounds = out
    count = 0
    for query in range(len(starts) - 1):
        first = count
        for row in range(starts[query], starts[query + 1]):
            term, scale = places[numbers[row]], scales[row]
            if term >= 0 and scale != 0:
                # As the compiled loops round.
                terms[count], own_scales[count] = term, scale
                bounds[count] = int(most[numbers[row]] * scale + 1)
                count += 1
        own_starts[query + 1] = count
        if count - first > _SORTED:
            order = first + np.argsort(bounds[first:count], kind="mergesort")
            terms[first:count], own_scales[first:count] = terms[order], own_scales[order]
            bounds[first:count] = bounds[order]
            continue
        for last in range(first + 1, count):
            term, scale, bound, row = terms[last], own_scales[last], bounds[last], last
            while row > first and bounds[row - 1] > bound:
                terms[row], own_scales[row] = terms[row - 1], own_scales[row - 1]
                bounds[row] = bounds[row - 1]
                row -= 1
            terms[row], own_scales[row], bounds[row] = term, scale, bound

"""Lowers tied scores until they differ, in Python: for few rows, where numba is not loaded yet.

`_order_kernels` has the same loop compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def lower(single: Any, same: Any, falls: Any) -> None:
    """Lowers scores by the fewest steps.

    Args:
        single: (n,) scores in single precision, to be lowered.
        same: (n-1,) whether each row from the second on is of the same query as its predecessor.
        falls: (n-1,) whether it must be lower than its predecessor, and not only no higher.
    """
    lowest = np.float32(-np.inf)
    for row in range(len(same)):
        above, score = single[row], single[row + 1]
        if same[row] and falls[row] and score >= above:
            single[row + 1] = np.nextafter(above, lowest)
        elif same[row] and score > above:
            single[row + 1] = above

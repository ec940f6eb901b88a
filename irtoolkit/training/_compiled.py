"""The loops of training that numpy does not do fast; see `irtoolkit.retrievers._compiled`.

Sets are rows of whole numbers end to end, ascending in each row: `starts` says where one begins.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# A sign of one word is a pair with this.
ALONE = (1 << 31) - 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pairs_of(starts: Any, words: Any, few: Any, counts: Any, signs: Any) -> None:
    # Every pair of the first few words of each set, as one number.
    at = 0
    for number in range(len(counts)):
        begin = starts[number]
        if counts[number]:
            for i in range(begin, begin + few[number] - 1):
                for j in range(i + 1, begin + few[number]):
                    signs[at] = np.int64(words[i]) << 31 | words[j]
                    at += 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def alike(
    runs: Any, members: Any, asked: Any, starts: Any, words: Any, near: float, begin: int,
    left: Any, right: Any,
) -> tuple[int, int]:  # fmt: skip
    # Of sets that share a sign, the pairs with a Jaccard similarity of `near` or more whose first
    # is asked for; a pair is found again under each sign that it shares. Gives the run to go on
    # from when the arrays for pairs are full, and how many were found.
    found = 0
    for run in range(begin, len(runs) - 1):
        mark = found
        for a in range(runs[run], runs[run + 1]):
            one = members[a]
            size = starts[one + 1] - starts[one]
            for b in range(a + 1, runs[run + 1]):
                other = members[b]
                others = starts[other + 1] - starts[other]
                if not (asked[one] or asked[other]) or other == one:
                    continue
                if min(size, others) / max(size, others) < near:
                    continue
                i, j, common = starts[one], starts[other], 0
                # How many words of each may have no match, a little too high where it is rounded.
                most = (size + others) * near / (1 + near) - 1e-6
                spare, spares = size - most, others - most
                while i < starts[one + 1] and j < starts[other + 1]:
                    if words[i] == words[j]:
                        common, i, j = common + 1, i + 1, j + 1
                    elif words[i] < words[j]:
                        i += 1
                        spare -= 1
                        if spare < 0:
                            break
                    else:
                        j += 1
                        spares -= 1
                        if spares < 0:
                            break
                if common / (size + others - common) >= near:
                    if found + 2 > len(left):
                        return run, mark
                    if asked[one]:
                        left[found], right[found] = one, other
                        found += 1
                    if asked[other]:
                        left[found], right[found] = other, one
                        found += 1
    return len(runs) - 1, found

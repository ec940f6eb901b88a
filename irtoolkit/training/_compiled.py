"""Compiled loops of training that NumPy is slow at; see `irtoolkit.runs._order_kernels`.

Sets are rows of ascending whole numbers, concatenated: `starts` are their offsets.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# A signature of one word is the pair of it and this number.
ALONE = (1 << 31) - 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pairs_of(starts: Any, words: Any, few: Any, counts: Any, signatures: Any) -> None:
    # Fills in every pair of the first few words of each set, as one number.
    count = 0
    for number in range(len(counts)):
        begin = starts[number]
        if counts[number]:
            for i in range(begin, begin + few[number] - 1):
                for j in range(i + 1, begin + few[number]):
                    signatures[count] = np.int64(words[i]) << 31 | words[j]
                    count += 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _similar(starts: Any, words: Any, first: int, second: int, near: float) -> bool:
    # Whether two sets have a Jaccard similarity of at least `near`.
    size, others = starts[first + 1] - starts[first], starts[second + 1] - starts[second]
    if min(size, others) / max(size, others) < near:
        return False
    i, j, common = starts[first], starts[second], 0
    # How many words of each may be without a match; slightly too high where it is rounded.
    most = (size + others) * near / (1 + near) - 1e-6
    spare, spares = size - most, others - most
    while i < starts[first + 1] and j < starts[second + 1]:
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
    similar: bool = common / (size + others - common) >= near
    return similar


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def near_duplicates(
    signed: Any, sets: Any, selected: Any, near: float, begin: int, pairs_out: Any
) -> tuple[int, int]:
    # Finds pairs of sets that share a signature and have a Jaccard similarity of at least `near`,
    # if the first is wanted; a pair is found once for each signature that it shares. `signed` is
    # (offsets of the runs of equal signatures, set of each signature), `sets` is (starts, words)
    # and `found` two arrays to fill. Returns the run at which to continue when these are full, and
    # the number of pairs.
    runs, members = signed
    starts, words = sets
    lefts, right = pairs_out
    count = 0
    for run in range(begin, len(runs) - 1):
        mark = count
        for a in range(runs[run], runs[run + 1]):
            first = members[a]
            for b in range(a + 1, runs[run + 1]):
                second = members[b]
                if not (selected[first] or selected[second]) or second == first:
                    continue
                if _similar(starts, words, first, second, near):
                    if count + 2 > len(lefts):
                        return run, mark
                    if selected[first]:
                        lefts[count], right[count] = first, second
                        count += 1
                    if selected[second]:
                        lefts[count], right[count] = second, first
                        count += 1
    return len(runs) - 1, count

"""The compiled loop that compares pairs of vectors in double precision, always in one order."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def compare(row: Any, docs: Any, distant: bool, out: Any, squares: Any) -> None:
    """Products of one vector with others, or squared distances from them, and their squared lengths.

    Sums are added up in four parts, which the processor works on side by side.
    """
    width = len(row)
    whole = width - width % 4
    for doc in range(len(docs)):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        e, f, g, h = 0.0, 0.0, 0.0, 0.0
        for at in range(0, whole, 4):
            w, x = float(docs[doc, at]), float(docs[doc, at + 1])
            y, z = float(docs[doc, at + 2]), float(docs[doc, at + 3])
            e += w * w
            f += x * x
            g += y * y
            h += z * z
            if distant:
                w -= row[at]
                x -= row[at + 1]
                y -= row[at + 2]
                z -= row[at + 3]
                a += w * w
                b += x * x
                c += y * y
                d += z * z
            else:
                a += w * row[at]
                b += x * row[at + 1]
                c += y * row[at + 2]
                d += z * row[at + 3]
        for at in range(whole, width):
            w = float(docs[doc, at])
            e += w * w
            if distant:
                w -= row[at]
                a += w * w
            else:
                a += w * row[at]
        out[doc] = (a + b) + (c + d)
        squares[doc] = (e + f) + (g + h)

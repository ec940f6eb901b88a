"""The loops of `weighing`, compiled."""

from __future__ import annotations

import numba

from irtoolkit.indexes import weighing

weigh = numba.njit(nogil=True, cache=True)(weighing.weigh)
place = numba.njit(nogil=True, cache=True)(weighing.place)

"""Rows of whole numbers that differ in length, concatenated in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, offsets_of

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of whole numbers that differ in length.

    Attributes:
        offsets: (n+1,) offsets of the rows: row i is `values[offsets[i]:offsets[i + 1]]`.
        values: the numbers of all rows.
    """

    offsets: Ints
    values: NDArray[Any]

    @classmethod
    def of(cls, rows: Sequence[Iterable[int]]) -> Ragged:
        """Builds rows from sequences, unchanged."""
        listed = [np.fromiter(row, np.int64) for row in rows]
        ends = np.cumsum([0, *map(len, listed)])
        return cls(ends, np.concatenate([np.empty(0, np.int64), *listed]))

    @classmethod
    def grouped(cls, owners: Ints, values: Ints, count: int) -> Ragged:
        """Builds one row for each of `count` owners: its distinct values, ascending.

        Args:
            owners, values: (k,) pairs of a row and a value in it.
            count: number of rows.
        """
        width = int(values.max(initial=0)) + 1
        pairs = distinct(owners * width + values)
        return cls(offsets_of(pairs // width, count), pairs % width)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ints:
        """Returns the values of one row."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def sizes(self) -> Ints:
        """(n,) length of each row."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """(values,) row of each value."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, rows: Ints) -> tuple[Ints, Ints]:
        """Returns the values of some rows.

        Returns:
            For each value the index in `rows` of its row, and the value; two parallel arrays.
        """
        return self.stretch(self.offsets[rows], self.offsets[rows + 1])

    def stretch(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Returns the values of some stretches of `values`, which may cross rows.

        Args:
            begins, ends: (k,) first position of each stretch, and one past its last.

        Returns:
            For each value the number of its stretch, and the value; two parallel arrays.
        """
        sizes = ends - begins
        owners = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return owners, self.values[begins[owners] + within]


def distinct(values: Ints) -> Ints:
    """Returns the distinct values, ascending; several times faster than np.unique."""
    ordered = np.sort(values)
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    values_found: Ints = ordered[new]
    return values_found


def is_among(values: Ints, ordered: Ints) -> Bools:
    """Returns whether each of some values is in `ordered`, whose values ascend."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    matches: Bools = ordered[places] == values
    return matches

"""Checks of an index's columns where they are opened: each must fit the others.

Checksums tell that a file is what was written. A file that was written wrong, or changed and sealed
anew, is found by its numbers alone: offsets that ascend to the end of what they divide, and numbers
of documents, terms and classes that there are.
"""

from __future__ import annotations

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of


class DamagedIndexError(InputError):
    """Files of an index that are missing, damaged or of another format; to be built again."""

    def __init__(self, found: str, *, file: str | PathLike[str]) -> None:
        super().__init__(found, file=file, remedy="build the index again with --replace")

    def __reduce__(self) -> Any:
        # Workers send it to the driver.
        return partial(DamagedIndexError, file=self.file or ""), (self.found,)


# Columns of more numbers are not read whole when an index is opened, but in evenly spread pieces.
_WHOLE, _PIECES, _PIECE = 1 << 24, 64, 1 << 14


def check_starts(starts: Any, count: int | None, end: int, file: Path) -> None:
    """Checks where each of some parts begins: from 0, ascending, and up to the end.

    Args:
        starts: (count + 1,) offsets.
        count: how many parts there are; None where the offsets say it.
        end: length of what is divided.
        file: of the offsets.

    Raises:
        DamagedIndexError: they do not.
    """
    _check_whole(starts, file)
    if len(starts) < 1 or (count is not None and len(starts) != count + 1):
        raise DamagedIndexError(f"damaged: {len(starts):,} offsets of {count} parts", file=file)
    if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise DamagedIndexError(f"damaged: its offsets do not ascend from 0 to {end:,}", file=file)


def check_numbers(numbers: Any, least: int, below: int, file: Path) -> None:
    """Checks that whole numbers are in a range; of very many, some are looked at.

    Raises:
        DamagedIndexError: one is not.
    """
    _check_whole(numbers, file)
    for part in _parts(numbers):
        if len(part) and (part.min() < least or part.max() >= below):
            raise DamagedIndexError(
                f"damaged: it has a number that is not in {least}..{below - 1}", file=file
            )


def check_places(places: Any, count: int, file: Path) -> None:
    """Checks that places are those of so many things, each once.

    Raises:
        DamagedIndexError: they are not.
    """
    check_length(places, count, file)
    check_numbers(places, 0, count, file)
    is_used = np.zeros(count, bool)
    is_used[places] = True
    if not is_used.all():
        raise DamagedIndexError("damaged: it has a number twice", file=file)


def check_length(column: Any, count: int, file: Path) -> None:
    """Checks that a column has so many rows.

    Raises:
        DamagedIndexError: it has not.
    """
    if not column.ndim or len(column) != count:
        length = len(column) if column.ndim else 0
        raise DamagedIndexError(
            f"damaged: it has {number_of(length, 'rows', ',')} and not {count:,}", file=file
        )


def check_finite(
    values: Any, file: Path, shape: tuple[int | None, ...] = (None,), *, most: float | None = None
) -> None:
    """Checks that numbers are finite and of a shape; None stands for any number of rows.

    With `most` it checks that they are from 0 to that.

    Raises:
        DamagedIndexError: they are not.
    """
    fits = len(shape) == values.ndim and all(
        expected in (None, actual) for expected, actual in zip(shape, values.shape, strict=True)
    )
    if not fits or values.dtype.kind not in "fiu":
        raise DamagedIndexError(
            f"damaged: it is of {values.dtype} {'x'.join(map(str, values.shape))}", file=file
        )
    if values.dtype.kind == "f" and not all(np.isfinite(part).all() for part in _parts(values)):
        raise DamagedIndexError("damaged: it has a number that is not finite", file=file)
    if most is not None:
        for part in _parts(values):
            if part.size and (part.min() < 0 or part.max() > most):
                raise DamagedIndexError(
                    f"damaged: it has a number that is not in 0..{most:.3g}", file=file
                )


def _check_whole(numbers: Any, file: Path) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise DamagedIndexError(f"damaged: it is of {numbers.dtype}", file=file)


def _parts(values: Any) -> list[Any]:
    """All of a column, or pieces of it."""
    if values.size <= _WHOLE:
        return [values]
    firsts = np.linspace(0, len(values) - 1, _PIECES).astype(np.int64)
    return [values[first : first + _PIECE] for first in firsts.tolist()]

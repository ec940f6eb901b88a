"""Sequences and mappings over the columns of a parsed release, with records made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

import pyarrow as pa

_BATCH_ROWS = 1 << 13

T = TypeVar("T")


class Rows(Sequence[T], Generic[T]):
    """Records that are made when they are read, or a slice of them.

    Args:
        read: yields the records at some positions, in the given order.
        places: the positions of these records.
    """

    def __init__(self, read: Callable[[Sequence[int]], Iterator[T]], places: range) -> None:
        self._read, self._places = read, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Rows[T]: ...
    def __getitem__(self, key: int | slice) -> T | Rows[T]:
        if isinstance(key, slice):
            return Rows(self._read, self._places[key])
        number = self._places[key]
        return next(self._read(range(number, number + 1)))

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self._places), _BATCH_ROWS):
            yield from self._read(self._places[start : start + _BATCH_ROWS])

    def at(self, places: Sequence[int]) -> Iterator[T]:
        """Yields the records at some positions, in the given order."""
        for start in range(0, len(places), _BATCH_ROWS):
            yield from self._read([self._places[i] for i in places[start : start + _BATCH_ROWS]])


class TableRows(Rows[T]):
    """Rows of a table as records."""

    def __init__(
        self, table: pa.Table, make: Callable[..., T], places: range | None = None
    ) -> None:
        """Makes each record with `make`, called with the row's number and its values."""
        self._table, self._make = table, make
        super().__init__(self._records, range(len(table)) if places is None else places)

    def _records(self, places: Sequence[int]) -> Iterator[T]:
        # Table.take would join all chunks of a column before it looks for a row.
        for run in _runs(places):
            block = self._table.slice(run.start, len(run))
            columns = [column.to_pylist() for column in block.columns]
            yield from map(self._make, run, *columns)


def _runs(places: Sequence[int]) -> Iterator[range]:
    """Splits places into ranges of consecutive ones."""
    if isinstance(places, range) and places.step == 1:
        yield places
        return
    start = stop = -1
    for number in places:
        if number != stop:
            if start != stop:
                yield range(start, stop)
            start = number
        stop = number + 1
    if start != stop:
        yield range(start, stop)


class ColumnTexts(Sequence[str]):
    """Consecutive texts of a column, which are read together at the first use and then cached."""

    def __init__(self, column: pa.ChunkedArray, start: int, count: int) -> None:
        self._column, self._start, self._count = column, start, count

    @cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = self._column.slice(self._start, self._count).to_pylist()
        return texts

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        return self._texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


class Records(Mapping[str, T], Generic[T]):
    """A mapping from ids to records, made when they are read."""

    def __init__(self, ids: Callable[[], Sequence[str]], rows: TableRows[T]) -> None:
        """Takes the ids of all rows from `ids`, which is called once, at the first look-up."""
        self._ids, self._rows = ids, rows
        self._index: dict[str, int] | None = None

    def _places(self) -> dict[str, int]:
        if self._index is None:
            self._index = {name: number for number, name in enumerate(self._ids())}
        return self._index

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __contains__(self, key: object) -> bool:
        return key in self._places()

    def __getitem__(self, key: str) -> T:
        return self._rows[self._places()[key]]

    def values(self) -> Sequence[T]:  # type: ignore[override]
        """Returns the records in order, as a sequence that can be sliced."""
        return self._rows

    def many(self, keys: Iterable[str]) -> Iterator[T]:
        """Yields the records of those ids that exist, in the given order."""
        index = self._places()
        places = [index[key] for key in keys if key in index]
        return self._rows.at(places)

"""Columns of text in memory-mapped arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.bounds import DamagedIndexError, check_starts

Bytes = NDArray[np.uint8]
SortingOrder = NDArray[np.integer[Any]]
# Bytes of a text, on average, up to which several are read together.
_SHORT = 64
# Texts up to which it is not worth while to copy them together.
_FEW = 64
# Steps that it takes Python to look up a text, and to copy one; see `is_worth_loading`.
_LOOKED_UP, _COPIED = 750, 80


class Strings(Sequence[str]):
    """Texts end to end.

    Attributes:
        data: (b,) UTF-8 of all texts.
        starts: (n+1,) where each text begins.
        file: of `data`, if it is mapped.
    """

    def __init__(self, data: Bytes, starts: Ints, file: Path | None = None) -> None:
        self.data, self.starts, self.file = data, starts, file
        self._last_places: tuple[Strings, Ints] | None = None

    @classmethod
    def of(cls, texts: Sequence[str]) -> Strings:
        """The texts of a sequence.

        Raises:
            InputError: one that UTF-8 cannot hold.
        """
        joined = "".join(texts)
        # Of ASCII a character is a byte.
        if joined.isascii():
            return cls(np.frombuffer(joined.encode(), np.uint8), starts_of(texts))
        coded = list(map(encoded, texts))
        return cls(np.frombuffer(b"".join(coded), np.uint8), starts_of(coded))

    @classmethod
    def joined(cls, parts: Iterable[Strings]) -> Strings:
        """The texts of several columns, one after the other."""
        strings = list(parts)
        ends = np.cumsum([0, *(len(part.data) for part in strings)])
        starts = [part.starts[1:] + end for part, end in zip(strings, ends, strict=False)]
        data = [part.data for part in strings]
        return cls(
            np.concatenate(data) if data else np.empty(0, np.uint8),
            np.concatenate([np.zeros(1, np.int64), *starts]),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> list[str]: ...
    def __getitem__(self, key: int | slice) -> str | list[str]:
        if isinstance(key, slice):
            return [self[position] for position in range(*key.indices(len(self)))]
        return self._decoded(self.at(key))

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def at(self, position: int) -> bytes:
        """The UTF-8 of one text."""
        return self.data[int(self.starts[position]) : int(self.starts[position + 1])].tobytes()

    def since(self, position: int) -> Strings:
        """Returns a column of the texts from a position on; their bytes are not copied."""
        return Strings(self.data, self.starts[position:], self.file) if position else self

    def chosen(self, places: Ints) -> list[str]:
        """Some texts, in the order of their places."""
        begins, ends = self.starts[places], self.starts[places + 1]
        if len(places) < _FEW or (ends - begins).sum() > _SHORT * len(places):
            bounds = zip(begins.tolist(), ends.tolist(), strict=True)
            data = self.data.data
            return [self._decoded(data[first:last]) for first, last in bounds]
        # Short ones are taken out all at once, and cut.
        strings = self.taken(places)
        joined = strings.data.tobytes()
        if not joined.isascii():
            return list(strings)
        text, bounds = joined.decode(), strings.starts.tolist()
        return [text[first:last] for first, last in pairwise(bounds)]

    def _decoded(self, coded: bytes | memoryview) -> str:
        """Returns the text of some bytes.

        Raises:
            DamagedIndexError: they are no UTF-8.
        """
        try:
            return str(coded, "utf-8")
        except UnicodeDecodeError:
            raise DamagedIndexError("damaged: it is not UTF-8", file=self.file or "") from None

    def taken(self, places: Ints) -> Strings:
        """A column of some texts, in the order of their places.

        Raises:
            DamagedIndexError: a text that would begin or end outside of the column.
        """
        begins, ends = self.starts[places], self.starts[places + 1]
        if len(places) and (
            (begins > ends).any() or begins.min() < 0 or ends.max() > len(self.data)
        ):
            raise DamagedIndexError("a column of texts is damaged", file=self.file or "")
        starts = np.zeros(len(places) + 1, np.int64)
        np.cumsum(ends - begins, out=starts[1:])
        if not is_worth_loading(_COPIED * len(places)):
            texts = [self.at(position) for position in places.tolist()]
            return Strings(np.frombuffer(b"".join(texts), np.uint8), starts, self.file)
        from irtoolkit.indexes._compiled_tokens import copy_each

        data = np.empty(int(starts[-1]), np.uint8)
        copy_each(self.data, self.starts, places, data, starts)
        return Strings(data, starts, self.file)

    def places(self, texts: Strings) -> Ints:
        """(n,) where each of some texts is, or -1; these here are in byte order.

        The places of the last texts are remembered.
        """
        # Searches in several threads share the column: what one remembers, another replaces.
        last = self._last_places
        if last is not None and last[0] is texts:
            return last[1]
        if is_worth_loading(_LOOKED_UP * len(texts)):
            from irtoolkit.indexes._compiled_tokens import find_each

            places = np.empty(len(texts), np.int64)
            find_each(self.data, self.starts, texts.data, texts.starts, places)
        else:
            positions = [self.place(text) for text in texts]
            places = np.array([-1 if i is None else i for i in positions], np.int64)
        self._last_places = texts, places
        return places

    def below(self, text: bytes, order: SortingOrder | None = None) -> int:
        """How many texts are before one in byte order; `order` sorts them, else they are sorted."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.at(middle if order is None else int(order[middle])) < text:
                low = middle + 1
            else:
                high = middle
        return low

    def place(self, text: str, order: SortingOrder | None = None) -> int | None:
        """Where a text is, or None; see `below`."""
        coded = text.encode(errors="surrogatepass")
        low = self.below(coded, order)
        if low == len(self):
            return None
        position = low if order is None else int(order[low])
        return position if self.at(position) == coded else None

    def save(self, folder: Path, name: str) -> None:
        """Writes the column as two files."""
        with StringsWriter(folder, name) as out:
            out.add(self)

    @classmethod
    def load(cls, folder: Path, name: str) -> Strings:
        """The column of a name, mapped.

        Raises:
            DamagedIndexError: its texts do not begin and end within it.
        """
        path, starts_path = folder / f"{name}.bin", folder / f"{name}-starts.npy"
        data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        starts = mapped(starts_path)
        check_starts(starts, None, len(data), starts_path)
        return cls(np.asarray(data), starts, path)


class StringsWriter:
    """Writes a column to a folder, piece by piece."""

    def __init__(self, folder: Path, name: str) -> None:
        self._place = folder / f"{name}-starts.npy"
        self._file = open(folder / f"{name}.bin", "wb")  # noqa: SIM115 closed by close
        self._starts, self._end = [np.zeros(1, np.int64)], 0

    def add(self, texts: Strings) -> None:
        """Appends some texts."""
        self._file.write(np.ascontiguousarray(texts.data).data)
        self._starts.append(texts.starts[1:] + self._end)
        self._end += len(texts.data)

    def close(self) -> None:
        """Ends the column."""
        self._file.close()
        np.save(self._place, np.concatenate(self._starts))

    def __enter__(self) -> StringsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def mapped(path: Path) -> NDArray[Any]:
    """An array of a file, read when it is touched.

    Raises:
        DamagedIndexError: there is no such file, or it holds no array.
    """
    try:
        try:
            array = np.asarray(np.load(path, mmap_mode="r"))
        except ValueError:  # an empty array cannot be mapped
            array = np.asarray(np.load(path))
        if not array.ndim:
            raise ValueError("it holds one number")
        return array
    except Exception as error:  # of a damaged header numpy raises whatever Python's parser does
        reason = " ".join(str(error).split())[:200]
        raise DamagedIndexError(f"missing or damaged: {reason}", file=path) from None


def reserved(path: Path, kind: Any, *shape: int) -> NDArray[Any]:
    """An array of a new file, for which the disk has room: without, writing to it is a crash."""
    array = open_memmap(path, "w+", kind, shape)
    if hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def starts_of(parts: Sequence[Sized]) -> Ints:
    """Returns (n+1,) where each part begins once they are end to end."""
    starts = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=starts[1:])
    return starts


def encoded(text: str) -> bytes:
    """The UTF-8 of a text.

    Raises:
        InputError: half a surrogate pair.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"half a surrogate pair at character {error.start + 1} of the text {text[:60]!r}"
        ) from None

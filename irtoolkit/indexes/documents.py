"""The documents of a shard: their ids, texts and the order of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.plurals import number_of
from irtoolkit.indexes.bounds import DamagedIndexError, check_length, check_places
from irtoolkit.indexes.strings import Strings, StringsWriter, encoded, mapped
from irtoolkit.runs.order import id_keys

# Ids up to so many bytes are sorted as rows of an array.
_SHORT = 64

IdHashes = NDArray[np.uint64]
# The constants of FNV-1a.
_OFFSET, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


class RepeatedDocumentError(InputError):
    """A document whose id another document has."""


class Documents:
    """The documents of a shard, mapped from a folder; see `DocumentsWriter`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def ids(self) -> Strings:
        """Their ids."""
        return Strings.load(self.folder, "ids")

    @cached_property
    def texts(self) -> Strings | None:
        """Their texts, or None where the index keeps none."""
        has_texts = (self.folder / "texts.bin").is_file()
        return Strings.load(self.folder, "texts") if has_texts else None

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """(d,) the documents in ascending order of their ids."""
        return mapped(self.folder / "order.npy")

    @cached_property
    def hashes(self) -> IdHashes:
        """(d,) a hash of each id, in ascending order."""
        return mapped(self.folder / "hashes.npy")

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """(d,) keys of the documents: of equal scores the greater comes first."""
        keys = np.empty(len(self.ids), np.int32)
        keys[self.order] = id_keys(len(self.ids))
        return keys

    def opened(self) -> Documents:
        """The same, all of whose files are open: they may be removed while it is used.

        Raises:
            DamagedIndexError: a column does not fit the others.
        """
        texts, count = self.texts, len(self.ids)
        check_places(self.order, count, self.folder / "order.npy")
        check_length(self.hashes, count, self.folder / "hashes.npy")
        if texts is not None and len(texts) != count:
            raise DamagedIndexError(
                f"damaged: it holds {number_of(len(texts), 'texts', ',')}, of {number_of(count, 'documents', ',')}",
                file=self.folder / "texts-starts.npy",
            )
        return self

    def place(self, doc_id: str) -> int | None:
        """The number of a document, or None."""
        return self.ids.place(doc_id, self.order)


class MemoryDocuments(Documents):
    """Documents in memory.

    Args:
        ids: their ids, each once.
    """

    def __init__(self, ids: Strings) -> None:
        super().__init__(Path("memory"))
        self.ids = ids

    @cached_property
    def texts(self) -> None:
        """None: no texts are stored."""

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """(d,) the documents in ascending order of their ids."""
        return sorted_ids(self.ids)

    @cached_property
    def hashes(self) -> IdHashes:
        """(d,) a hash of each id, in ascending order."""
        return np.sort(hashes(self.ids))


class DocumentsWriter:
    """Writes the documents of a shard as they come.

    Args:
        folder: of the shard.
        texts: whether texts are kept.
    """

    def __init__(self, folder: Path, texts: bool) -> None:
        self._folder = folder
        self._ids = StringsWriter(folder, "ids")
        self._texts = StringsWriter(folder, "texts") if texts else None
        self._parts: list[Strings] = []

    def add(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Appends some documents."""
        part = Strings.of(ids)
        self._ids.add(part)
        self._parts.append(part)
        if self._texts is not None:
            self._texts.add(_column(ids, texts))

    def close(self) -> None:
        """Ends the columns.

        Raises:
            InputError: an id that occurs twice.
        """
        self._ids.close()
        if self._texts is not None:
            self._texts.close()
        ids = Strings.joined(self._parts)
        order = sorted_ids(ids)
        _check_distinct_ids(ids, order)
        np.save(self._folder / "order.npy", order)
        np.save(self._folder / "hashes.npy", np.sort(hashes(ids)))


def _column(ids: Sequence[str], texts: Sequence[str]) -> Strings:
    try:
        return Strings.of(texts)
    except InputError:
        for doc_id, text in zip(ids, texts, strict=True):
            try:
                encoded(text)
            except InputError as error:
                raise InputError(f"document {doc_id}: {error.found}") from None
        raise


def hashes(ids: Strings) -> IdHashes:
    """(n,) a hash of each id."""
    codes = np.full(len(ids), _OFFSET)
    widths = np.diff(ids.starts)
    # Byte by byte of all ids that are so long, the longest first.
    longest = np.argsort(-widths, kind="stable")
    begins, still = ids.starts[:-1][longest], len(ids)
    for column in range(int(widths.max(initial=0))):
        still = int(np.searchsorted(-widths[longest[:still]], -column))
        codes[:still] = (codes[:still] ^ ids.data[begins[:still] + column]) * _PRIME
    hashed = np.empty(len(ids), np.uint64)
    hashed[longest] = codes ^ (codes >> np.uint64(32))
    return hashed


def sorted_ids(ids: Strings) -> NDArray[np.int32]:
    """The numbers of ids in ascending order of their bytes."""
    widths = np.diff(ids.starts)
    longest = int(widths.max(initial=1))
    if longest > _SHORT or (np.asarray(ids.data) == 0).any():
        return np.array(sorted(range(len(ids)), key=ids.at), np.int32)
    rows = np.zeros((len(ids), longest), np.uint8)
    rows[np.arange(longest) < widths[:, None]] = ids.data
    return np.argsort(rows.view(f"S{longest}").ravel(), kind="stable").astype(np.int32)


def keys_of(ids: Strings) -> Ints:
    """Returns the (n,) keys of documents: of equal scores the greater comes first."""
    keys = np.empty(len(ids), np.int64)
    keys[sorted_ids(ids)] = id_keys(len(ids))
    return keys


def _check_distinct_ids(ids: Strings, order: NDArray[np.int32]) -> None:
    codes: Ints = hashes(ids)[order].view(np.int64)
    for index in np.flatnonzero(codes[1:] == codes[:-1]).tolist():
        if ids.at(int(order[index])) == ids.at(int(order[index + 1])):
            raise RepeatedDocumentError(
                f"document {ids[int(order[index])]} occurs twice",
                remedy="give each document an id of its own",
            )

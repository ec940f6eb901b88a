"""Shards of an index on disk: put in their place, opened, searched for documents, cleaned up."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.ids import Ints
from irtoolkit.base.paths import is_copy
from irtoolkit.base.stamps import content_hash
from irtoolkit.indexes.bounds import DamagedIndexError, check_length, check_numbers
from irtoolkit.indexes.documents import Documents, MemoryDocuments, RepeatedDocumentError, hashes
from irtoolkit.indexes.manifest import (
    REPLACEMENT,
    FileHash,
    Manifest,
    ShardEntry,
    check_shard,
    seal,
)
from irtoolkit.indexes.strings import Strings, mapped

SHARDS, DELETED = "shards", "deleted"
# The shard that is being written.
_HALF = ".unfinished"


class OpenShard(NamedTuple):
    """A shard of an index that is open.

    Attributes:
        documents: its documents; their folder holds the arrays too.
        deleted: numbers of deleted documents, ascending.
    """

    documents: Documents
    deleted: Ints

    @classmethod
    def in_memory(cls, ids: Strings) -> OpenShard:
        """Returns documents in memory, none of which is deleted."""
        return cls(MemoryDocuments(ids), np.empty(0, np.int64))

    @property
    def live(self) -> NDArray[np.uint8]:
        """(d,) 1 for documents that were not deleted."""
        live = np.ones(len(self.documents.ids), np.uint8)
        live[self.deleted] = 0
        return live

    def check(self, documents: NDArray[Any]) -> None:
        """Raises DamagedIndexError if the documents of some postings are not all in the shard."""
        if documents.min(initial=0) < 0 or documents.max(initial=-1) >= len(self.documents.ids):
            raise DamagedIndexError(
                "damaged: it has documents that are not in the index",
                file=self.documents.folder / "documents.npy",
            )


def opened(
    folder: Path, entries: Iterable[ShardEntry], *, read: FileHash | None = content_hash
) -> list[OpenShard]:
    """Returns some shards of an index, open.

    Args:
        folder: the index.
        entries: the shards.
        read: see `check_shard`; by default files are read once, and again if their time stamps change.

    Raises:
        DamagedIndexError: one whose files are not there, or not what was written.
    """
    shards = []
    for entry in entries:
        path = folder / SHARDS / entry.name
        check_shard(path, entry, read=read)
        documents, gone = Documents(path).opened(), deleted(folder, entry)
        check_length(documents.order, entry.documents, path / "order.npy")
        if entry.deleted is not None:
            file = folder / DELETED / entry.deleted
            check_numbers(gone, 0, entry.documents, file)
            if (gone[1:] <= gone[:-1]).any():
                raise DamagedIndexError("damaged: its numbers do not ascend", file=file)
        shards.append(OpenShard(documents, gone))
    return shards


def find(shards: Sequence[OpenShard], doc_id: str) -> tuple[int, int] | None:
    """The shard of a document that was not deleted, and its place there; or None."""
    for number, (docs, gone) in enumerate(shards):
        position = docs.place(doc_id)
        if position is None:
            continue
        index = int(np.searchsorted(gone, position))
        if index == len(gone) or gone[index] != position:
            return number, position
    return None


def begun(folder: Path, name: str = _HALF) -> Path:
    """An empty folder for the next shard; writers at the same time take names of their own."""
    half = folder / SHARDS / name
    with written(folder):
        if half.exists():
            shutil.rmtree(half)
        half.mkdir(parents=True)
    return half


def finished(half: Path, prefix: str, documents: int) -> ShardEntry:
    """Moves the shard that was written to its place, whose name is a prefix and a hash."""
    folder = half.parent.parent
    with written(folder):
        listing = seal(half, documents)
        entry = ShardEntry(f"{prefix}-{listing[:12]}", documents, listing)
        path = folder / SHARDS / entry.name
        if path.exists():
            try:
                # Of the index that is replaced, which stays whole until the other one is; or of
                # another worker, which has done the same.
                check_shard(path, entry, read=sha256)
                shutil.rmtree(half)
                return entry
            except InputError:
                shutil.rmtree(path)
        try:
            half.rename(path)
        except OSError:
            # Another worker was faster.
            check_shard(path, entry, read=sha256)
            shutil.rmtree(half)
    return entry


def clean(folder: Path, manifest: Manifest) -> None:
    """Removes what an interrupted writer has left; a replacement that was begun stays.

    The copy of an index at a URL is left as it is: other processes read the shards of the manifest there,
    and shards that none has read for long are removed when it is copied again.
    """
    if is_copy(folder):
        return
    entries = list(manifest.shards)
    if (folder / REPLACEMENT).is_file():
        entries += Manifest.read(folder, REPLACEMENT).shards
    shards = {entry.name for entry in entries}
    for path in (folder / SHARDS).glob("*"):
        if path.name not in shards:
            shutil.rmtree(path, ignore_errors=True)
    lists = {entry.deleted for entry in manifest.shards}
    for path in (folder / DELETED).glob("*"):
        if path.name not in lists:
            path.unlink(missing_ok=True)
    # What a killed process was writing besides: a manifest.
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def deleted(folder: Path, entry: ShardEntry) -> Ints:
    """Numbers of the deleted documents of a shard, ascending.

    Raises:
        DamagedIndexError: their list is missing or damaged.
    """
    if entry.deleted is None:
        return np.empty(0, np.int64)
    path = folder / DELETED / entry.deleted
    gone = mapped(path)
    if gone_name(entry, gone) != entry.deleted:
        raise DamagedIndexError("damaged: its bytes are not what was written", file=path)
    return gone


def gone_name(entry: ShardEntry, gone: Ints) -> str:
    """The name of the file that lists deleted documents of a shard."""
    digest = hashlib.sha256(np.ascontiguousarray(gone).tobytes()).hexdigest()
    return f"{entry.name}-{digest[:12]}.npy"


@contextmanager
def written(folder: Path) -> Iterator[None]:
    """Turns what a disk refuses into an InputError."""
    try:
        yield
    except OSError as error:
        # Numpy says no more than that fewer bytes were written.
        if error.errno is None and "requested and" not in str(error):
            raise
        raise InputError(
            f"cannot write: {error.strerror or 'no room is left on the disk'}",
            file=error.filename or folder,
            remedy="the index is as it was; rerun the same command to continue",
        ) from error


def check_not_indexed(half: Path, shards: Sequence[OpenShard], ready: int, folder: Path) -> None:
    """Raises InputError for documents whose ids are in the index already and were not deleted.

    `ready` is the number of shards that were there before these documents.
    """
    fresh = Documents(half)
    codes = hashes(fresh.ids)
    suspects = np.zeros(len(codes), bool)
    for docs, _ in shards:
        others = docs.hashes
        if len(others):
            positions = np.minimum(np.searchsorted(others, codes), len(others) - 1)
            suspects |= others[positions] == codes
    for doc_id in fresh.ids.chosen(np.flatnonzero(suspects)):
        location = find(shards, doc_id)
        if location is None:
            continue
        if location[0] < ready:
            raise RepeatedDocumentError(
                f"document {doc_id} is in the index {folder} already",
                remedy="nothing was added; delete it first, or leave it out",
            )
        raise RepeatedDocumentError(
            f"document {doc_id} occurs twice", remedy="give each document an id of its own"
        )

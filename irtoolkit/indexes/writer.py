"""Writing an index: documents in, shards out; each shard is whole or absent."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.indexes.documents import Documents, DocumentsWriter, hashes
from irtoolkit.indexes.manifest import Manifest, ShardEntry, Source, seal
from irtoolkit.indexes.strings import mapped

# A text in parts, such as the sentences of an abstract.
Segments = tuple[str, ...]
SHARDS, DELETED = "shards", "deleted"
_HALF = ".unfinished"
# Bytes that the postings of a shard may take while they are made.
MEMORY = 1 << 30
# Documents copied at once.
_COPIED = 1 << 13


class DocumentBlock(NamedTuple):
    """Some documents in their order: ids, and texts in segments."""

    ids: Sequence[str]
    texts: Sequence[Segments]


class OpenDocuments(Protocol):
    """The documents of a shard, and the numbers of deleted ones."""

    @property
    def documents(self) -> Documents: ...
    @property
    def deleted(self) -> Ints: ...


class ShardMaker(Protocol):
    """Makes the arrays of shards of documents that come block by block."""

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        ...

    def add(self, texts: Sequence[Segments]) -> None:
        """Takes in the texts of the next documents."""
        ...

    def is_full(self) -> bool:
        """Whether the shard takes as much memory as it may."""
        ...

    def end(self) -> None:
        """Writes the arrays of the shard."""
        ...


class Reading(NamedTuple):
    """Documents to be put into an index.

    Attributes:
        source: where they come from.
        blocks: the documents from a number on, in blocks that begin at multiples of a block's size.
        total: how many there are, or None.
    """

    source: Source
    blocks: Callable[[int], Iterable[DocumentBlock]]
    total: int | None = None


@contextmanager
def writing(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Keeps other writers out of an index.

    Args:
        folder: the index.
        wait: whether to wait until another writer has finished, where it writes the same index.

    Raises:
        InputError: another process writes to it, unless `wait`; or the folder cannot be written.
    """
    with locked(folder / "lock", wait=wait) as mine:
        if not mine:
            raise InputError(
                f"another process is writing to the index {folder}",
                remedy="wait until it has finished",
            )
        yield


def put(
    folder: Path, reading: Reading, maker: ShardMaker, *, texts: bool = True, progress: bool = True
) -> Manifest:
    """Puts documents into an index whose manifest is there.

    What an interrupted call has put in stays in; the same call continues. Call it within `writing`.

    Args:
        folder: the index.
        reading: the documents.
        maker: makes the shards.
        texts: whether texts are kept, for search results.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: an id twice, or that is in the index already; other documents are only partly
            in; no documents; or the disk refuses.
    """
    manifest = _begun(folder, Manifest.read(folder), reading.source)
    clean(folder, manifest)
    if manifest.sources[-1].complete:
        return manifest
    known = _known(folder, manifest)
    done = manifest.sources[-1].documents
    with tqdm(
        total=reading.total, initial=done, desc="indexing", unit="doc",
        disable=None if progress else True,
    ) as bar:  # fmt: skip
        for part in _shards(folder, reading.blocks(done), maker, texts, bar.update):
            entry = _kept(folder, len(manifest.shards), part, known)
            source = manifest.sources[-1]
            source = replace(source, documents=source.documents + entry.documents)
            manifest = replace(manifest, shards=(*manifest.shards, entry)).with_source(source)
            manifest.write(folder)
            known.append(np.asarray(Documents(folder / SHARDS / entry.name).hashes))
    if not manifest.sources[-1].documents:
        raise InputError("there are no documents to index")
    manifest = manifest.with_source(replace(manifest.sources[-1], complete=True))
    manifest.write(folder)
    return manifest


def _begun(folder: Path, manifest: Manifest, source: Source) -> Manifest:
    """The manifest with a source as its last, begun or continued."""
    last = manifest.sources[-1] if manifest.sources else None
    if last is not None and not last.complete:
        if not last.is_same(source):
            raise InputError(
                f"the index {folder} holds only {last.documents} documents of {last.name}: putting"
                " them in was interrupted",
                remedy=f"put in {last.name} again to continue, or build with --replace",
            )
        return manifest
    if any(known.content is not None and known.is_same(source) for known in manifest.sources):
        raise InputError(f"the documents of {source.name} are in the index {folder} already")
    return replace(manifest, sources=(*manifest.sources, source))


def _shards(
    folder: Path,
    blocks: Iterable[DocumentBlock],
    maker: ShardMaker,
    texts: bool,
    tell: Callable[[int], object],
) -> Iterator[int]:
    """Writes shards, one at a time, to the unfinished folder; yields the documents of each."""
    half = folder / SHARDS / _HALF
    columns: DocumentsWriter | None = None
    count = 0
    for block in blocks:
        if columns is None:
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir(parents=True)
            columns, count = DocumentsWriter(half, texts), 0
            maker.begin(half)
        columns.add(block.ids, [" ".join(segments) for segments in block.texts])
        maker.add(block.texts)
        count += len(block.ids)
        tell(len(block.ids))
        if maker.is_full():
            maker.end()
            columns.close()
            columns = None
            yield count
    if columns is not None:
        maker.end()
        columns.close()
        yield count


def _kept(folder: Path, number: int, documents: int, known: Sequence[Ints]) -> ShardEntry:
    """Moves the unfinished shard to its place."""
    half = folder / SHARDS / _HALF
    _refuse_known(folder, half, known)
    listing = seal(half, documents)
    name = f"{number:04}-{listing[:12]}"
    shutil.rmtree(folder / SHARDS / name, ignore_errors=True)
    half.rename(folder / SHARDS / name)
    return ShardEntry(name, documents, listing)


def _known(folder: Path, manifest: Manifest) -> list[Ints]:
    return [np.asarray(Documents(folder / SHARDS / e.name).hashes) for e in manifest.shards]


def _refuse_known(folder: Path, half: Path, known: Sequence[Ints]) -> None:
    """Refuses documents whose ids are in the index already and were not deleted."""
    fresh = Documents(half)
    codes = hashes(fresh.ids)
    suspects = np.zeros(len(codes), bool)
    for others in known:
        at = np.searchsorted(others, codes)
        suspects[at < len(others)] |= (others[np.minimum(at, len(others) - 1)] == codes)[
            at < len(others)
        ]
    if not suspects.any():
        return
    manifest = Manifest.read(folder)
    for doc_id in fresh.ids.chosen(np.flatnonzero(suspects)):
        if find(folder, manifest, doc_id) is not None:
            shutil.rmtree(half, ignore_errors=True)
            raise InputError(
                f"document {doc_id} is in the index {folder} already",
                remedy="delete it first, or leave it out",
            )


def find(folder: Path, manifest: Manifest, doc_id: str) -> tuple[int, int] | None:
    """The shard of a document that was not deleted, and its place there; or None."""
    for number, entry in enumerate(manifest.shards):
        place = Documents(folder / SHARDS / entry.name).place(doc_id)
        if place is not None and place not in deleted(folder, entry):
            return number, place
    return None


def deleted(folder: Path, entry: ShardEntry) -> Ints:
    """Numbers of the deleted documents of a shard, ascending."""
    if entry.deleted is None:
        return np.empty(0, np.int64)
    path = folder / DELETED / entry.deleted
    if not path.is_file():
        raise InputError("missing", file=path, remedy="build the index again with --replace")
    return mapped(path)


def delete(folder: Path, doc_ids: Sequence[str]) -> Manifest:
    """Deletes documents. They keep their place until shards are merged.

    Raises:
        InputError: a document that is not in the index; nothing is deleted then.
    """
    manifest = Manifest.read(folder)
    clean(folder, manifest)
    places: dict[int, list[int]] = {}
    for doc_id in dict.fromkeys(doc_ids):
        found = find(folder, manifest, doc_id)
        if found is None:
            raise InputError(f"document {doc_id} is not in the index {folder}")
        places.setdefault(found[0], []).append(found[1])
    entries = list(manifest.shards)
    for number, own in places.items():
        entry = entries[number]
        gone = np.union1d(deleted(folder, entry), np.array(own, np.int64))
        name = f"{entry.name}-{hashlib.sha256(gone.tobytes()).hexdigest()[:12]}.npy"
        (folder / DELETED).mkdir(exist_ok=True)
        np.save(folder / DELETED / name, gone)
        entries[number] = replace(entry, deleted=name)
    manifest = replace(manifest, shards=tuple(entries))
    manifest.write(folder)
    clean(folder, manifest)
    return manifest


def clean(folder: Path, manifest: Manifest) -> None:
    """Removes what an interrupted writer has left."""
    shards = {entry.name for entry in manifest.shards}
    for path in (folder / SHARDS).glob("*"):
        if path.name not in shards:
            shutil.rmtree(path, ignore_errors=True)
    lists = {entry.deleted for entry in manifest.shards}
    for path in (folder / DELETED).glob("*"):
        if path.name not in lists:
            path.unlink(missing_ok=True)


def check_deleted(folder: Path, entry: ShardEntry) -> None:
    """Refuses a list of deleted documents that is not what was written."""
    gone = deleted(folder, entry)
    digest = hashlib.sha256(np.ascontiguousarray(gone).tobytes()).hexdigest()[:12]
    if entry.deleted is not None and digest not in entry.deleted:
        raise InputError(
            "damaged: its bytes are not what was written", file=folder / DELETED / entry.deleted,
            remedy="build the index again with --replace",
        )  # fmt: skip


def merge(
    folder: Path,
    manifest: Manifest,
    shards: Sequence[OpenDocuments],
    arrays: Callable[[Sequence[Any], Sequence[Ints], Path], None],
) -> Manifest:
    """Makes one shard of all, without deleted documents.

    Args:
        folder: the index.
        manifest: of the index.
        shards: documents of each shard, and the deleted ones.
        arrays: writes the arrays of the one shard, given the new numbers of each shard's documents.
    """
    clean(folder, manifest)
    if len(shards) == 1 and not len(shards[0].deleted):
        return manifest
    half = folder / SHARDS / _HALF
    half.mkdir(parents=True)
    columns = DocumentsWriter(half, all(shard.documents.texts is not None for shard in shards))
    places, count = [], 0
    for shard in shards:
        live = np.ones(len(shard.documents.ids), bool)
        live[shard.deleted] = False
        kept = np.flatnonzero(live)
        place = np.full(len(live), -1, np.int64)
        place[kept] = np.arange(count, count + len(kept))
        places.append(place)
        count += len(kept)
        texts = shard.documents.texts
        for start in range(0, len(kept), _COPIED):
            part = kept[start : start + _COPIED]
            own = texts.chosen(part) if texts is not None else []
            columns.add(shard.documents.ids.chosen(part), own)
    columns.close()
    arrays(shards, places, half)
    entry = _kept(folder, 0, count, ())
    manifest = replace(manifest, shards=(entry,))
    manifest.write(folder)
    clean(folder, manifest)
    return manifest

"""Writing an index: documents in, shards out; each shard is whole or absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.base.locks import locked
from irtoolkit.base.progress import tqdm
from irtoolkit.indexes.documents import DocumentsWriter, RepeatedDocumentError
from irtoolkit.indexes.manifest import NAME, DocumentSource, Manifest, ShardEntry
from irtoolkit.indexes.shards import (
    SHARDS,
    begun,
    check_not_indexed,
    clean,
    finished,
    opened,
    written,
)

# Bytes that the postings of a shard may take while they are made.
MEMORY = 1 << 30


class DocumentBlock(NamedTuple):
    """Some documents in their order: ids, and texts in segments."""

    ids: Sequence[str]
    texts: Sequence[Segments]


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
            It can be sent to other processes.
        total: how many there are, or None.
        block: documents of a block.
    """

    source: DocumentSource
    blocks: Callable[[int], Iterable[DocumentBlock]]
    total: int | None = None
    block: int = 1


@contextmanager
def writing(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Keeps other writers out of an index.

    Args:
        folder: the index.
        wait: whether to wait until another writer has finished, where it writes the same index.

    Raises:
        InputError: another process writes to it, unless `wait`; or the folder cannot be written.
    """
    with locked(folder / "lock", wait=wait) as is_locked:
        if not is_locked:
            raise being_written(folder)
        yield


def being_written(folder: Path) -> InputError:
    """Returns the error for an index that another process is writing."""
    return InputError(
        f"another process is writing to the index {folder}", remedy="wait until it has finished"
    )


@dataclass(frozen=True)
class Target:
    """Where documents are put.

    Attributes:
        folder: the index.
        manifest: the name of its manifest; another one than the usual for what will replace it.
        texts: whether texts are kept, for search results.
    """

    folder: Path
    manifest: str = NAME
    texts: bool = True

    def read(self) -> Manifest:
        """The manifest."""
        return Manifest.read(self.folder, self.manifest)

    def write(self, manifest: Manifest) -> None:
        """Writes the manifest."""
        manifest.write(self.folder, self.manifest)

    def clean(self) -> None:
        """Removes what an interrupted writer has left."""
        if self.manifest == NAME:
            clean(self.folder, Manifest.read(self.folder))


# Makes what makes the shards.
Make = Callable[[], ShardMaker]
# Is called with the number of documents that were taken in.
Tell = Callable[[int], object]
# Writes the shards of the documents that are not in an index yet, in order; see `here`.
Entries = Callable[[Target, Manifest, Reading, Make, Tell], Iterator[ShardEntry]]


def put(
    target: Target,
    reading: Reading,
    make: Make,
    *,
    progress: bool = True,
    entries: Entries | None = None,
) -> Manifest:
    """Puts documents into an index whose manifest is there.

    What an interrupted call has put in stays in; the same call continues. Until all documents are
    in, none of them is found. Call it within `writing`.

    Args:
        target: the index.
        reading: the documents.
        make: makes what makes the shards; it can be sent to other processes.
        progress: whether to show a bar on a terminal.
        entries: writes the shards; by default `here`, in this process. Other writers find what they
            have written before.

    Raises:
        RepeatedDocumentError: an id twice, or that is in the index already; no document is put in then.
        InputError: other documents are only partly in; no documents; or the disk refuses.
    """
    manifest = _begun(target, reading.source)
    if manifest.sources[-1].complete:
        return manifest
    if entries is None:
        target.clean()
    try:
        manifest = _filled(target, manifest, reading, make, entries or here, progress)
    except RepeatedDocumentError:
        target.write(manifest.settled())
        target.clean()
        raise
    if not manifest.sources[-1].documents:
        raise InputError("there are no documents to index")
    manifest = manifest.with_source(replace(manifest.sources[-1], complete=True))
    target.write(manifest)
    target.clean()
    return manifest


def _begun(target: Target, source: DocumentSource) -> Manifest:
    """The manifest with a source as its last, begun or continued."""
    manifest = target.read()
    if not manifest.is_complete:
        last = manifest.sources[-1]
        if last.is_same(source):
            return manifest
        if last.name != source.name:
            raise InputError(
                f"the index {target.folder} holds only {last.documents:,} documents of {last.name}:"
                " putting them in was interrupted",
                remedy=f"put in {last.name} again to continue, or build with --replace",
            )
        # Documents that have changed since: those of before are of no use.
        manifest = manifest.settled()
    if any(source_known.is_same(source) for source_known in manifest.sources):
        raise RepeatedDocumentError(
            f"the documents of {source.name} are in the index {target.folder} already"
        )
    return replace(manifest, sources=(*manifest.sources, source))


def _filled(
    target: Target,
    manifest: Manifest,
    reading: Reading,
    make: Make,
    entries: Entries,
    progress: bool,
) -> Manifest:
    """The manifest with all documents."""
    shards = opened(target.folder, manifest.shards)
    ready = len(manifest.settled().shards)
    done = manifest.sources[-1].documents
    with tqdm(
        total=reading.total,
        initial=done,
        desc="indexing",
        unit="doc",
        disable=None if progress else True,
    ) as bar:
        for entry in entries(target, manifest, reading, make, bar.update):
            check_not_indexed(target.folder / SHARDS / entry.name, shards, ready, target.folder)
            source = manifest.sources[-1]
            source = replace(source, documents=source.documents + entry.documents)
            manifest = replace(manifest, shards=(*manifest.shards, entry)).with_source(source)
            target.write(manifest)
            shards += opened(target.folder, (entry,))
    return manifest


def here(
    target: Target, manifest: Manifest, reading: Reading, make: Make, tell: Tell
) -> Iterator[ShardEntry]:
    """Writes the shards of the documents that are not in yet, in this process; an `Entries`."""
    number = len(manifest.shards)
    blocks = reading.blocks(manifest.sources[-1].documents)
    for half, count in written_shards(
        lambda: begun(target.folder), target.texts, blocks, make(), tell
    ):
        yield finished(half, f"{number:04}", count)
        number += 1


def written_shards(
    begin: Callable[[], Path],
    texts: bool,
    blocks: Iterable[DocumentBlock],
    maker: ShardMaker,
    tell: Tell,
) -> Iterator[tuple[Path, int]]:
    """Writes shards, one at a time; yields the folder and the number of documents of each.

    Args:
        begin: makes an empty folder.
        texts: whether texts are kept.
        blocks: the documents.
        maker: makes the arrays of a shard.
        tell: is called with the number of documents that were taken in.
    """
    columns: DocumentsWriter | None = None
    count = 0
    for block in blocks:
        if columns is None:
            half, count = begin(), 0
        with written(half.parent.parent):
            if columns is None:
                columns = DocumentsWriter(half, texts)
                maker.begin(half)
            columns.add(block.ids, [" ".join(segments) for segments in block.texts])
        maker.add(block.texts)
        count += len(block.ids)
        tell(len(block.ids))
        if maker.is_full():
            with written(half.parent.parent):
                maker.end()
                columns.close()
            columns = None
            yield half, count
    if columns is not None:
        with written(half.parent.parent):
            maker.end()
            columns.close()
        yield half, count

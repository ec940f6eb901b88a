"""Building indexes that are kept on disk, and finding them again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as replaced
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, on_disk, url_of
from irtoolkit.base.shared import shared_place
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes import writer
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.manifest import DocumentSource, Manifest
from irtoolkit.indexes.remote import copy_of, is_index, local_index, manifest_at
from irtoolkit.indexes.remote_writer import share_index, uploaded
from irtoolkit.indexes.shards import clean, opened, written
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.index_folder import (
    KEPT,
    check_own_folder,
    check_own_url,
    check_same,
    check_unchanged,
    damage_of,
    live,
    nothing_begun,
)
from irtoolkit.retrievers.index_sources import MadeBy, put_documents, reading_of, source_of
from irtoolkit.retrievers.postings_index import PostingsIndex
from irtoolkit.retrievers.stored_index import StoredIndex

_log = logging.getLogger(__name__)


def build(
    data: Dataset,
    retriever: Retriever,
    view: str,
    folder: StrPath | None = None,
    *,
    memory: int = writer.MEMORY,
    replace: bool = False,
    progress: bool = True,
) -> StoredIndex:
    """The index of a dataset's documents, built where it is not there yet.

    Args:
        data: the documents.
        retriever: what will search them.
        view: the view of the documents' texts.
        folder: where the index goes; by default irtoolkit's cache folder, under a name that says
            what was indexed and how. What goes to a URL is built on this machine first.
        memory: bytes that are used for postings while a shard is built; sets the size of shards.
        replace: whether another index in the folder is replaced.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: the retriever keeps no index, or cannot run here; the folder holds something
            else, or another index; or what the documents raise.
    """
    retriever = retriever.on(data.lang)
    form, url, source = retriever.needed_format(), url_of(folder), source_of(data, view)
    if url is not None:
        return _build_at(url, data, retriever, view, memory, replace, progress)
    # What is in the cache has a name that says what it is: another process builds the same.
    shared = folder is None
    location = kept_folder(source, retriever, view) if folder is None else on_disk(folder)
    check_own_folder(location)
    index = None if replace else _existing(location, form, source, retriever, shared)
    if index is not None:
        index.was_there = True
        return index
    with nothing_begun(location), writer.writing(location, wait=shared):
        damage = damage_of(location) if shared else None
        if damage is not None:
            _log.warning("%s: %s: the index is built again", damage.file, damage.found)
        reading, make = reading_of(data, source, view), MadeBy(retriever, memory)
        manifest = _manifest(retriever, form, view)
        if (replace or damage is not None) and (location / manifests.NAME).is_file():
            with _replacing(location, manifest, source) as target:
                put_documents(target, reading, make, progress=progress)
        elif _built(location, form, source) is None:
            _begin(location, manifest, source)
            put_documents(writer.Target(location), reading, make, progress=progress)
    if shared:
        share_index(location)
    return StoredIndex.searched_with(location, retriever)


def _existing(
    location: Path, form: IndexFormat, source: DocumentSource, retriever: Retriever, shared: bool
) -> StoredIndex | None:
    """Returns the complete index of a folder; if that is in the cache, or in a cache at a URL.

    A damaged one in the cache is as if it were not there.
    """
    try:
        manifest = _built(location, form, source)
        if manifest is not None:
            return StoredIndex.searched_with(location, retriever, manifest)
    except DamagedIndexError:
        if not shared:
            raise
    shared_copy = shared_place(location) if shared else None
    if shared_copy is None or not is_index(shared_copy):
        return None
    return StoredIndex.searched_with(shared_copy, retriever)


def _manifest(retriever: Retriever, form: IndexFormat, view: str) -> Manifest:
    """Returns the manifest of an index without documents."""
    return Manifest(
        form.kind,
        retriever.name,
        retriever.settings(),
        view,
        dict(form.settings),
        given=retriever.given(),
        retriever_format=_format(retriever, form),
    )


def _build_at(
    url: str,
    data: Dataset,
    retriever: Retriever,
    view: str,
    memory: int,
    replace: bool,
    progress: bool,
) -> StoredIndex:
    """The index at a URL, built in its copy on this machine and uploaded, unless it is there."""
    source, copy = source_of(data, view), copy_of(url)
    before = manifest_at(url) if is_index(url) else ""
    if before:
        local_index(url, [])
        if not replace and _built(copy, retriever.needed_format(), source) is not None:
            index = StoredIndex.searched_with(url, retriever)
            index.was_there = True
            return index
        if not replace:
            check_unchanged(Manifest.read(copy), source, copy)
    else:
        check_own_url(url)
        # The copy may still hold an index that is no longer at the URL.
        manifest = _manifest(retriever, retriever.needed_format(), view)
        replace = not _is_begun(copy, manifests.NAME, manifest, source)
    with uploaded(copy, url, before):
        build(data, retriever, view, copy, memory=memory, replace=replace, progress=progress)
    return StoredIndex.searched_with(url, retriever)


def _built(path: Path, form: IndexFormat, source: DocumentSource) -> Manifest | None:
    """Returns the manifest of an index that has all documents of a source; None if it does not."""
    if not (path / manifests.NAME).is_file():
        return None
    manifest = Manifest.read(path)
    if manifest.shards:
        check_same(manifest, form, path)
    is_built = any(recorded.complete and recorded.is_same(source) for recorded in manifest.sources)
    return manifest if is_built else None


def _begin(path: Path, manifest: Manifest, source: DocumentSource) -> None:
    """Makes the manifest of a folder where there is none, or one without documents."""
    if (path / manifests.NAME).is_file():
        current = Manifest.read(path)
        if current.shards:
            check_unchanged(current, source, path)
            return
    manifest.write(path)


@contextmanager
def _replacing(path: Path, manifest: Manifest, source: DocumentSource) -> Iterator[writer.Target]:
    """Where another index is built in a folder; until it is complete, the one that is there stays."""
    target = writer.Target(path, manifests.REPLACEMENT)
    if not _is_begun(path, manifests.REPLACEMENT, manifest, source):
        target.write(manifest)
    yield target
    with written(path):
        (path / manifests.REPLACEMENT).replace(path / manifests.NAME)
    clean(path, Manifest.read(path))


def _is_begun(path: Path, name: str, manifest: Manifest, source: DocumentSource) -> bool:
    """Whether a folder holds the first documents of a source, or all, in an index that was made so.

    Args:
        path: the folder.
        name: of the manifest in it.
        manifest: that of the same index without documents.
        source: the documents.
    """
    try:
        begun = Manifest.read(path, name)
        shards = opened(path, begun.shards)
    except InputError:
        return False
    same = replaced(begun, sources=(), shards=()) == manifest
    sources = [recorded for recorded in begun.sources if recorded.is_same(source)]
    alone = len(sources) == len(begun.sources) == 1
    return same and alone and live(shards) == sources[0].documents


def _format(retriever: Retriever, form: IndexFormat) -> int:
    """Returns the format number on which an index depends, or 0."""
    # Postings are counts: another version of a formula searches the same.
    return 0 if form.kind == PostingsIndex.kind else retriever.format


def kept_folder(source: DocumentSource, retriever: Retriever, view: str) -> Path:
    """Returns where the index of some documents is kept unless another place is named."""
    form = retriever.needed_format()
    decides = [
        manifests.FORMAT,
        form.kind,
        dict(form.settings),
        view,
        source.name,
        source.content,
        _format(retriever, form) or 1,
    ]
    name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]
    return cache_home() / KEPT / name

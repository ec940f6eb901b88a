"""Building indexes that are kept on disk, and finding them again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

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
from irtoolkit.retrievers.stored_search import form_of

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
    form, url = form_of(retriever), url_of(folder)
    if url is not None:
        return _build_at(url, data, retriever, view, memory, replace, progress)
    # What is in the cache has a name that says what it is: another process builds the same.
    shared = folder is None
    location = kept_folder(data, retriever, view) if folder is None else on_disk(folder)
    source = source_of(data, view)
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
        elif not _is_built(location, form, source):
            _begin(location, manifest, source)
            put_documents(writer.Target(location), reading, make, progress=progress)
    if shared:
        share_index(location)
    return opened_for(location, retriever)


def _existing(
    location: Path, form: IndexFormat, source: DocumentSource, retriever: Retriever, shared: bool
) -> StoredIndex | None:
    """Returns the complete index of a folder; if that is in the cache, or in a cache at a URL.

    A damaged one in the cache is as if it were not there.
    """
    try:
        if _is_built(location, form, source):
            return opened_for(location, retriever)
    except DamagedIndexError:
        if not shared:
            raise
    shared_copy = shared_place(location) if shared else None
    if shared_copy is None or not is_index(shared_copy):
        return None
    return opened_for(shared_copy, retriever)


def _manifest(retriever: Retriever, form: IndexFormat, view: str) -> Manifest:
    """Returns the manifest of an index without documents."""
    return Manifest(
        form.kind,
        retriever.name,
        retriever.settings(),
        view,
        dict(form.settings),
        given=given(retriever),
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
        if not replace and _is_built(copy, form_of(retriever), source):
            index = opened_for(url, retriever)
            index.was_there = True
            return index
        if not replace:
            check_unchanged(Manifest.read(copy), source, copy)
    else:
        check_own_url(url)
        # The copy may still hold an index that is no longer at the URL.
        manifest = _manifest(retriever, form_of(retriever), view)
        replace = not _is_begun(copy, manifests.NAME, manifest, source)
    with uploaded(copy, url, before):
        build(data, retriever, view, copy, memory=memory, replace=replace, progress=progress)
    return opened_for(url, retriever)


def opened_for(location: StrPath, retriever: Retriever) -> StoredIndex:
    """An index as a retriever searches it."""
    manifest = Manifest.read(local_index(location, []))
    return StoredIndex(location, searched_with(manifest, retriever), retriever.name)


def _is_built(path: Path, form: IndexFormat, source: DocumentSource) -> bool:
    """Whether all documents of a source are in an index that was made so."""
    if not (path / manifests.NAME).is_file():
        return False
    manifest = Manifest.read(path)
    if manifest.shards:
        check_same(manifest, form, path)
    return any(recorded.complete and recorded.is_same(source) for recorded in manifest.sources)


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
        shards = opened(path, begun)
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


def given(retriever: Retriever) -> dict[str, Any]:
    """The settings of a retriever that are not its defaults."""
    usual = {item.name: item.default for item in fields(retriever)}
    return {
        name: value
        for name, value in retriever.settings().items()
        if name in usual and getattr(retriever, name) != usual[name]
    }


def searched_with(manifest: Manifest, retriever: Retriever) -> dict[str, Any]:
    """The settings of a retriever that differ from those an index was built with.

    Where another retriever has built it, those that are not its own defaults.
    """
    if manifest.retriever != retriever.name:
        return given(retriever)
    settings = json.loads(json.dumps(retriever.settings()))
    return {key: value for key, value in settings.items() if manifest.parameters.get(key) != value}


def kept_folder(data: Dataset, retriever: Retriever, view: str) -> Path:
    """Where the index of a dataset is kept unless another place is named."""
    form = form_of(retriever.on(data.lang))
    source = source_of(data, view)
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

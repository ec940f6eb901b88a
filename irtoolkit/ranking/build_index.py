"""Building indexes that are kept on disk, and finding them again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath, is_url, on_disk, url_of
from irtoolkit.base.shared import shared_place
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.datasets.memory import is_text_file
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes import writer
from irtoolkit.indexes.form import KeptForm
from irtoolkit.indexes.manifest import Manifest, Source
from irtoolkit.indexes.remote import is_index, local_index
from irtoolkit.indexes.remote_writer import remade, share_index
from irtoolkit.indexes.shards import clean, opened, written
from irtoolkit.ranking.index_folder import (
    KEPT,
    damage_of,
    nothing_begun,
    other_documents,
    refuse_changed,
    refuse_foreign,
    refuse_foreign_at,
    refuse_other,
)
from irtoolkit.ranking.index_sources import MadeBy, dataset_with, put, reading_of, source_of
from irtoolkit.ranking.kept import KeptIndex
from irtoolkit.ranking.produce import refuse_missing
from irtoolkit.ranking.session_index import refuse_unindexable
from irtoolkit.ranking.systems import System, find_system, refuse_query_settings
from irtoolkit.retrievers.texts import DEFAULT_VIEW

_log = logging.getLogger(__name__)


def open_kept(
    index: str, system: str | None, settings: Mapping[str, Any], *, build_missing: bool = False
) -> KeptIndex:
    """The index of a folder, or that of a dataset and a system in irtoolkit's cache.

    Args:
        index: the folder or URL, or a dataset's id.
        system: the name of the system; by default the one that a folder was built for, and bm25 for
            a dataset.
        settings: of the search.
        build_missing: whether the index of a dataset is built where it is not there.

    Raises:
        InputError: there is no such index.
    """
    if (is_url(index) and not is_text_file(index)) or is_index(index):
        return folder_index(index, system, settings)
    if Path(index).is_dir():
        Manifest.read(Path(index))
    system = system or "bm25"
    try:
        data = dataset_with(index)
    except InputError as error:
        if not error.found.startswith("no dataset"):
            raise
        raise InputError(f"{error.found}, and no index at {index}", remedy=error.remedy) from None
    refuse_query_settings(settings)
    found = find_system(system, settings, data.parts)
    found = found.on(data.lang)
    place = kept_folder(data, found)
    if build_missing:
        return build(data, found)
    there = next((one for one in (place, shared_place(place)) if one and is_index(one)), None)
    if there is None:
        raise InputError(
            f"{index} has no index for {system}", remedy=f"irtoolkit index {index} {system}"
        )
    return _opened(there, found)


def folder_index(
    folder: StrPath, system: str | None, settings: Mapping[str, Any], dataset: DatasetId | str = ""
) -> KeptIndex:
    """The index of a folder or URL, searched by what it was built for unless another system is named.

    `dataset` tells systems of one name apart.

    Raises:
        InputError: see `KeptIndex`; no such system; or one that needs other documents.
    """
    if system is None:
        return KeptIndex(folder, settings)
    refuse_query_settings(settings)
    other = find_system(system, settings, dataset)
    index = KeptIndex(folder, _given(other), other.retriever.name)
    if other.task.doc not in (DEFAULT_VIEW, index.manifest.view):
        raise other_documents(index.folder, f"doc={index.manifest.view}")
    return index


def build(
    data: Dataset, system: System, folder: StrPath | None = None, *, memory: int = writer.MEMORY,
    replace: bool = False, progress: bool = True,
) -> KeptIndex:  # fmt: skip
    """The index of a dataset's documents, built where it is not there yet.

    Args:
        data: the documents.
        system: what will search them.
        folder: where the index goes; by default irtoolkit's cache folder, under a name that says
            what was indexed and how. What goes to a URL is built on this machine first.
        memory: bytes that are used for postings while a shard is built; sets the size of shards.
        replace: whether another index in the folder is replaced.
        progress: whether to show a bar on a terminal.

    Raises:
        InputError: the retriever keeps no index, or cannot run here; the folder holds something
            else, or another index; or what the documents raise.
    """
    refuse_unindexable(data, system)
    refuse_missing(system)
    system = system.on(data.lang)
    form = form_of(system)
    url = url_of(folder)
    if url is not None:
        return _build_at(url, data, system, memory, replace, progress)
    place = kept_folder(data, system) if folder is None else on_disk(folder)
    made = Manifest(
        form.kind, system.retriever.name, system.retriever.settings(), system.task.doc,
        dict(form.settings), given=_given(system),
    )  # fmt: skip
    refuse_foreign(place)
    reading, make = reading_of(data, system.task.doc), MadeBy(system.retriever, memory)
    # What is in the cache has a name that says what it is: another process builds the same.
    shared = folder is None
    damage = damage_of(place) if shared else None
    if not replace and damage is None and _is_built(place, form, reading.source):
        return _found(place, system)
    known = shared_place(place) if shared and not replace else None
    if known is not None and is_index(known):
        return _found(known, system)
    with nothing_begun(place), writer.writing(place, wait=shared):
        if damage is not None and damage_of(place) is not None:
            _log.warning("%s: %s: the index is built again", damage.file, damage.found)
            replace = True
        if replace and (place / manifests.NAME).is_file():
            with _replacing(place, made, reading.source) as target:
                put(target, reading, make, progress=progress)
        else:
            if not _is_built(place, form, reading.source):
                _begin(place, made, reading.source)
                put(writer.Target(place), reading, make, progress=progress)
    if shared:
        share_index(place)
    return _opened(place, system)


def _found(place: StrPath, system: System) -> KeptIndex:
    """An index that was there."""
    index = _opened(place, system)
    index.was_there = True
    return index


def _build_at(
    url: str, data: Dataset, system: System, memory: int, replace: bool, progress: bool
) -> KeptIndex:
    """The index at a URL, built on this machine and put there where it is not there yet."""
    form, source = form_of(system), source_of(data, system.task.doc)
    if is_index(url):
        copy = local_index(url, [])
        if not replace and _is_built(copy, form, source):
            return _found(url, system)
        if not replace:
            refuse_changed(Manifest.read(copy), source, copy)
    else:
        refuse_foreign_at(url)
    purpose = f"build {kept_folder(data, system).name} {_given(system)}"
    with remade(url, purpose, empty=True) as folder:
        build(data, system, folder, memory=memory, progress=progress)
    return _opened(url, system)


def _opened(place: StrPath, system: System) -> KeptIndex:
    """An index as a system searches it."""
    known = Manifest.read(local_index(place, []))
    return KeptIndex(place, searched_with(known, system), system.retriever.name)


def _is_built(place: Path, form: KeptForm, source: Source) -> bool:
    """Whether all documents of a source are in an index that was made so."""
    if not (place / manifests.NAME).is_file():
        return False
    known = Manifest.read(place)
    if known.shards:
        refuse_other(known, form, place)
    return any(kept.complete and kept.is_same(source) for kept in known.sources)


def _begin(place: Path, made: Manifest, source: Source) -> None:
    """Makes the manifest of a folder where there is none, or one without documents."""
    if (place / manifests.NAME).is_file():
        known = Manifest.read(place)
        if known.shards:
            refuse_changed(known, source, place)
            return
    made.write(place)


@contextmanager
def _replacing(place: Path, made: Manifest, source: Source) -> Iterator[writer.Target]:
    """Where another index is built in a folder; until it is complete, the one that is there stays."""
    target = writer.Target(place, manifests.REPLACEMENT)
    try:
        begun = target.read()
        opened(place, begun)
    except InputError:
        begun = made
    same = replaced(begun, sources=(), shards=()) == made
    if not (same and begun.sources and begun.sources[-1].is_same(source)):
        target.write(made)
    yield target
    with written(place):
        (place / manifests.REPLACEMENT).replace(place / manifests.NAME)
    clean(place, Manifest.read(place))


def form_of(system: System) -> KeptForm:
    """How a system's retriever keeps its documents.

    Raises:
        InputError: it does not.
    """
    form = system.retriever.kept()
    if form is None:
        raise InputError(
            f"the retriever {system.retriever.name} keeps no index",
            remedy="irtoolkit retrieve ranks with it",
        )
    return form


def _given(system: System) -> dict[str, Any]:
    """The settings of a system's retriever that are not its defaults."""
    own = system.retriever
    usual = {item.name: item.default for item in fields(own)}
    return {
        name: value for name, value in own.settings().items()
        if name in usual and getattr(own, name) != usual[name]
    }  # fmt: skip


def searched_with(known: Manifest, system: System) -> dict[str, Any]:
    """The settings of a system that differ from those an index was built with.

    Where another retriever has built it, those that are not its own defaults.
    """
    if known.retriever != system.retriever.name:
        return _given(system)
    own = json.loads(json.dumps(system.retriever.settings()))
    return {key: value for key, value in own.items() if known.parameters.get(key) != value}


def kept_folder(data: Dataset, system: System) -> Path:
    """Where the index of a dataset is kept unless another place is named."""
    form = form_of(system.on(data.lang))
    source = source_of(data, system.task.doc)
    decides = [
        manifests.FORMAT, form.kind, dict(form.settings), system.task.doc, source.name,
        source.content, system.retriever.format,
    ]  # fmt: skip
    name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]
    return cache_home() / KEPT / name

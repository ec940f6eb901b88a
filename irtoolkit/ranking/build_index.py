"""Building indexes that are kept on disk, and finding them again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes import writer
from irtoolkit.indexes.form import KeptForm
from irtoolkit.indexes.manifest import Manifest, Source
from irtoolkit.ranking.kept import KeptIndex, refuse_other
from irtoolkit.ranking.produce import refuse_missing
from irtoolkit.ranking.session_index import refuse_unindexable
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.retrievers.texts import BLOCK_DOCS, text_batches


def open_kept(
    index: str, system: str, settings: Mapping[str, Any], *, build_missing: bool = False
) -> KeptIndex:
    """The index of a folder, or that of a dataset and a system in irtoolkit's cache.

    Args:
        index: the folder, or a dataset's id.
        system: the name of the system, for a dataset.
        settings: of the search.
        build_missing: whether the index of a dataset is built where it is not there.

    Raises:
        InputError: there is no such index.
    """
    if (Path(index) / manifests.NAME).is_file():
        return KeptIndex(Path(index), settings)
    if Path(index).is_dir():
        Manifest.read(Path(index))
    data = Dataset.of(index)
    found = find_system(system, settings, data.parts)
    found = found.on(data.lang)
    place = kept_folder(data, found)
    if build_missing:
        return build(data, found)
    if not (place / manifests.NAME).is_file():
        raise InputError(
            f"{index} has no index for {system}", remedy=f"irtoolkit index {index} {system}"
        )
    return KeptIndex(place, searched_with(Manifest.read(place), found))


def build(
    data: Dataset, system: System, folder: Path | str | None = None, *, memory: int = writer.MEMORY,
    replace: bool = False, progress: bool = True,
) -> KeptIndex:  # fmt: skip
    """The index of a dataset's documents, built where it is not there yet.

    Args:
        data: the documents.
        system: what will search them.
        folder: where the index goes; by default irtoolkit's cache folder, under a name that says
            what was indexed and how.
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
    place = kept_folder(data, system) if folder is None else Path(folder)
    made = Manifest(
        form.kind, system.retriever.name, system.retriever.settings(), system.task.doc,
        dict(form.settings),
    )  # fmt: skip
    _refuse_foreign(place)
    # What is in the cache has a name that says what it is: another process builds the same.
    with writer.writing(place, wait=folder is None):
        if replace:
            for part in (writer.SHARDS, writer.DELETED):
                shutil.rmtree(place / part, ignore_errors=True)
            (place / manifests.NAME).unlink(missing_ok=True)
        if (place / manifests.NAME).is_file():
            known = Manifest.read(place)
            refuse_other(known, form, place)
            _refuse_changed(known, data, place)
        else:
            made.write(place)
        begun = Manifest.read(place)
        if not begun.sources or not begun.is_complete:
            put_documents(data, place, system.task.doc, form, memory, progress)
    return KeptIndex(place, searched_with(Manifest.read(place), system))


def put_documents(
    data: Dataset, folder: Path, view: str, form: KeptForm, memory: int, progress: bool
) -> None:
    """Puts the documents of a dataset into an index whose manifest is there."""

    def blocks(start: int) -> Iterator[writer.DocumentBlock]:
        for ids, texts in text_batches(data, view, start, BLOCK_DOCS):
            yield writer.DocumentBlock(ids, texts)

    count: Callable[[], int] | None = getattr(data, "docs_count", None)
    reading = writer.Reading(
        Source(data.id, data.docs_key), blocks, None if count is None else count()
    )
    writer.put(folder, reading, form.maker(memory), progress=progress)


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


def searched_with(known: Manifest, system: System) -> dict[str, Any]:
    """The settings of a system that differ from those an index was built with."""
    own = json.loads(json.dumps(system.retriever.settings()))
    return {key: value for key, value in own.items() if known.parameters.get(key) != value}


def kept_folder(data: Dataset, system: System) -> Path:
    """Where the index of a dataset is kept unless another place is named.

    Raises:
        InputError: the documents are in memory only, so that the index could not be found again.
    """
    key = data.docs_key
    if key is None:
        raise InputError(
            f"nothing says whether the documents of {data.id} have changed since they were indexed",
            remedy="name a folder for the index",
        )
    form = form_of(system.on(data.lang))
    decides = [
        manifests.FORMAT, form.kind, dict(form.settings), system.task.doc, data.id, key,
        system.retriever.format,
    ]  # fmt: skip
    name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]
    return cache_home() / "indexes" / name


def _refuse_foreign(folder: Path) -> None:
    """Refuses a folder with something else in it, and a file."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", remedy="name a folder for the index")
    if folder.is_dir() and not (folder / manifests.NAME).is_file():
        others = [path.name for path in folder.iterdir() if path.name not in _OWN]
        if others:
            raise InputError(
                f"the folder {folder} holds {others[0]}, which is no part of an index",
                remedy="name an empty folder or a new one",
            )


_OWN = {"lock", writer.SHARDS, writer.DELETED, manifests.NAME}


def _refuse_changed(known: Manifest, data: Dataset, folder: Path) -> None:
    if known.sources and not any(
        source.is_same(Source(data.id, data.docs_key)) for source in known.sources
    ):
        raise InputError(
            f"the index {folder} holds other documents: {known.sources[0].name}"
            f"{', changed since' if known.sources[0].name == data.id else ''}",
            remedy="--replace builds it again, --add adds to it",
        )

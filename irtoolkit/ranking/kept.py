"""Indexes that are kept on disk: built once, opened in milliseconds, added to."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.cache import cache_home
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes import writer
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.form import KeptForm, OpenShard, Searcher
from irtoolkit.indexes.manifest import Manifest, Source
from irtoolkit.indexes.search import TopDocuments
from irtoolkit.ranking.index import Index, refuse_unindexable
from irtoolkit.ranking.produce import refuse_missing
from irtoolkit.ranking.systems import System, TaskSettings, find_system
from irtoolkit.ranking.texts import Asked
from irtoolkit.retrievers.ordering import untied
from irtoolkit.retrievers.registry import create_retriever
from irtoolkit.retrievers.texts import BLOCK_DOCS, Segments, text_batches
from irtoolkit.runs import Run

# Bytes that a shard may take while it is made.
MEMORY = 1 << 30


class KeptIndex(Index):
    """An index in a folder, opened.

    Args:
        folder: the index.
        settings: of the search, in place of those it was built with, such as k1.

    Raises:
        InputError: there is no index, it is damaged, of another format, only partly built; or a
            setting that concerns documents.
    """

    def __init__(self, folder: Path | str, settings: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(folder)
        self.name = str(folder)
        self.manifest = Manifest.read(self.folder)
        if not self.manifest.is_complete:
            last = self.manifest.sources[-1]
            raise InputError(
                f"the index {folder} is not complete: {last.documents} documents of {last.name} are"
                " in",
                remedy="rerun the same command to continue",
            )
        parameters = {**self.manifest.parameters, **(settings or {})}
        retriever = create_retriever(self.manifest.retriever, parameters)
        self.system = System(retriever.name, retriever, TaskSettings(doc=self.manifest.view))
        self._form = form_of(self.system)
        _refuse_other(self.manifest, self._form, self.folder)

    @cached_property
    def _shards(self) -> list[OpenShard]:
        shards = []
        for entry in self.manifest.shards:
            place = self.folder / writer.SHARDS / entry.name
            manifests.check_shard(place, entry)
            shards.append(OpenShard(Documents(place), writer.deleted(self.folder, entry)))
        return shards

    @cached_property
    def _bases(self) -> Any:
        return np.cumsum([0, *(entry.documents for entry in self.manifest.shards)])

    @cached_property
    def searcher(self) -> Searcher:
        """What searches the shards."""
        return self._form.open(self._shards)

    def __len__(self) -> int:
        gone = sum(len(shard.deleted) for shard in self._shards)
        return sum(entry.documents for entry in self.manifest.shards) - gone

    def _rank(self, asked: Sequence[Asked], depth: int) -> Run:
        texts: list[Segments] = [(query.text,) for query in asked]
        return self.run(id_array([query.query_id for query in asked]), texts, depth)

    def run(self, query_ids: Any, queries: Sequence[Segments], depth: int) -> Run:
        """The best documents of some queries, given as segments, as a run without ties."""
        found: TopDocuments = self.searcher.search(queries, depth)
        numbers, docs = np.unique(found.documents, return_inverse=True)
        made = Run.ordered(
            query_ids, found.offsets, id_array(self._ids(numbers)), docs.astype(np.int32),
            found.scores.astype(np.float32), self.system.name,
        )  # fmt: skip
        return untied(made)

    def exact_ranks(
        self, query_ids: Sequence[str], queries: Sequence[Segments],
        relevant: Mapping[str, Sequence[str]],
    ) -> dict[str, dict[str, int]]:  # fmt: skip
        """The ranks of relevant documents over all documents, by query and document."""
        known: dict[str, int] = {}
        for doc_id in {doc for query in query_ids for doc in relevant.get(query, ())}:
            found = writer.find(self.folder, self.manifest, doc_id)
            if found is not None:
                known[doc_id] = int(self._bases[found[0]]) + found[1]
        wanted = [[doc for doc in relevant.get(query, ()) if doc in known] for query in query_ids]
        ranks = self.searcher.ranks(queries, [[known[doc] for doc in docs] for docs in wanted])
        return {
            query: dict(zip(docs, own, strict=True))
            for query, docs, own in zip(query_ids, wanted, ranks, strict=True)
            if docs
        }

    def _ids(self, numbers: Any) -> list[str]:
        which = np.searchsorted(self._bases, numbers, side="right") - 1
        own = numbers - self._bases[which]
        return [
            self._shards[shard].documents.ids[place]
            for shard, place in zip(which.tolist(), own.tolist(), strict=True)
        ]

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        texts = {}
        for doc_id in doc_ids:
            found = writer.find(self.folder, self.manifest, doc_id)
            if found is not None:
                column = self._shards[found[0]].documents.texts
                texts[doc_id] = "" if column is None else column[found[1]]
        return texts

    def _matches(self, query: str, text: str) -> tuple[tuple[int, int], ...]:
        return tuple(self.searcher.matched((query,), text))

    def bytes(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def verify(self) -> int:
        """Reads every byte of the index; the number of files that were read.

        Raises:
            InputError: names the first file that is not what was written.
        """
        count = 0
        for entry in self.manifest.shards:
            place = self.folder / writer.SHARDS / entry.name
            manifests.check_shard(place, entry, content=True)
            count += sum(1 for _ in place.iterdir())
            if entry.deleted is not None:
                writer.check_deleted(self.folder, entry)
                count += 1
        return count

    def delete(self, doc_ids: Sequence[str]) -> KeptIndex:
        """The index without some documents.

        Raises:
            InputError: a document that is not in it; nothing is deleted then.
        """
        with writer.writing(self.folder):
            writer.delete(self.folder, doc_ids)
        return self._again()

    def add(self, data: Dataset, *, memory: int = MEMORY, progress: bool = True) -> KeptIndex:
        """The index with the documents of another dataset.

        Raises:
            InputError: a document whose id is in the index, or what `build` raises.
        """
        with writer.writing(self.folder):
            _put(data, self.folder, self.manifest.view, self._form, memory, progress)
        return self._again()

    def merge(self) -> KeptIndex:
        """The index as one shard, without deleted documents."""
        with writer.writing(self.folder):
            current = KeptIndex(self.folder, self.manifest.parameters)
            writer.merge(self.folder, current.manifest, current._shards, self._form.merge)
        return self._again()

    def _again(self) -> KeptIndex:
        return KeptIndex(self.folder, self.system.retriever.settings())


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
    place = kept_folder(data, found)
    if build_missing:
        return build(data, found)
    if not (place / manifests.NAME).is_file():
        raise InputError(
            f"{index} has no index for {system}", remedy=f"irtoolkit index {index} {system}"
        )
    return KeptIndex(place, found.retriever.settings())


def build(
    data: Dataset, system: System, folder: Path | str | None = None, *, memory: int = MEMORY,
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
    form = form_of(system)
    place = kept_folder(data, system) if folder is None else Path(folder)
    made = Manifest(
        form.kind, system.retriever.name, system.retriever.settings(), system.task.doc,
        dict(form.settings),
    )  # fmt: skip
    _refuse_foreign(place)
    with writer.writing(place):
        if replace:
            for part in (writer.SHARDS, writer.DELETED):
                shutil.rmtree(place / part, ignore_errors=True)
            (place / manifests.NAME).unlink(missing_ok=True)
        if (place / manifests.NAME).is_file():
            known = Manifest.read(place)
            _refuse_other(known, form, place)
            _refuse_changed(known, data, place)
        else:
            made.write(place)
        begun = Manifest.read(place)
        if not begun.sources or not begun.is_complete:
            _put(data, place, system.task.doc, form, memory, progress)
    return KeptIndex(place, system.retriever.settings())


def _put(
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
    form = form_of(system)
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


def _refuse_other(known: Manifest, form: KeptForm, folder: Path) -> None:
    """Refuses an index of other settings of documents."""
    own = json.loads(json.dumps(dict(form.settings)))
    kept = dict(known.settings)
    if known.kind != form.kind or kept != own:
        names = [key for key in {**kept, **own} if kept.get(key) != own.get(key)]
        said = ", ".join(f"{name}={kept.get(name)}" for name in names) or f"kind={known.kind}"
        raise InputError(
            f"the index {folder} was built with {said}, which concerns the documents",
            remedy="build another index for other settings",
        )


def _refuse_changed(known: Manifest, data: Dataset, folder: Path) -> None:
    if known.sources and not any(
        source.is_same(Source(data.id, data.docs_key)) for source in known.sources
    ):
        raise InputError(
            f"the index {folder} holds other documents: {known.sources[0].name}"
            f"{', changed since' if known.sources[0].name == data.id else ''}",
            remedy="--replace builds it again, --add adds to it",
        )

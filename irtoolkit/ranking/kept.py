"""Indexes that are kept on disk: opened in milliseconds, searched, added to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array
from irtoolkit.indexes import changes, shards, writer
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes.form import KeptForm, OpenShard, Searcher
from irtoolkit.indexes.manifest import Manifest
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.ranking.index import Index
from irtoolkit.retrievers.ordering import untied
from irtoolkit.runs import Run

if TYPE_CHECKING:
    from irtoolkit.retrievers.base import Retriever

Segments = tuple[str, ...]


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
        self.manifest = _searchable(self.folder)
        self.searched_by = self.manifest.retriever
        self._settings = dict(settings or {})
        # What postings find shares a term with the query.
        self.skips_zero = False
        if self._settings:
            refuse_other(self.manifest, self._form, self.folder)

    @cached_property
    def _shards(self) -> list[OpenShard]:
        while True:
            try:
                return shards.opened(self.folder, self.manifest)
            except (InputError, OSError):
                # Another process may have merged them since the manifest was read.
                known, self.manifest = self.manifest, _searchable(self.folder)
                if known == self.manifest:
                    raise

    @cached_property
    def _bases(self) -> Any:
        return np.cumsum([0, *(len(shard.documents.ids) for shard in self._shards)])

    @cached_property
    def retriever(self) -> Retriever:
        """The retriever that searches."""
        from irtoolkit.retrievers.registry import create_retriever

        return create_retriever(self.manifest.retriever, {**self.manifest.given, **self._settings})

    @property
    def _form(self) -> KeptForm:
        form = self.retriever.kept()
        if form is None:
            raise InputError(f"the retriever {self.manifest.retriever} keeps no index")
        return form

    @cached_property
    def searcher(self) -> Searcher:
        """What searches the shards."""
        if self.manifest.kind == "postings" and not self._settings:
            # The first result of a new process waits for no more than this needs.
            from irtoolkit.retrievers.kept import BM25Searcher

            return BM25Searcher(self.manifest.parameters, self._shards)
        form = self._form
        refuse_other(self.manifest, form, self.folder)
        return form.open(self._shards)

    def __len__(self) -> int:
        return sum(len(shard.documents.ids) - len(shard.deleted) for shard in self._shards)

    def _rank(self, asked: Mapping[str, str], depth: int) -> Run:
        return self.run(id_array(list(asked)), [(text,) for text in asked.values()], depth)

    def run(
        self, query_ids: Any, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> Run:
        """The best documents of some queries, given as segments, as a run without ties.

        Where fewer have something of a query, `fill` lists others, which score 0, as
        `irtoolkit retrieve` does of every candidate.
        """
        found: TopDocuments = self.searcher.search(queries, depth, fill=fill)
        numbers, docs = _distinct(found.documents, int(self._bases[-1]))
        made = Run.ordered(
            query_ids, found.offsets, id_array(self._ids(numbers)), docs.astype(np.int32),
            found.scores.astype(np.float32), self.searched_by,
        )  # fmt: skip
        return untied(made)

    def exact_ranks(
        self, query_ids: Sequence[str], queries: Sequence[Segments],
        relevant: Mapping[str, Sequence[str]],
    ) -> dict[str, dict[str, int]]:  # fmt: skip
        """The ranks of relevant documents over all documents, by query and document."""
        known: dict[str, int] = {}
        for doc_id in {doc for query in query_ids for doc in relevant.get(query, ())}:
            found = shards.find(self._shards, doc_id)
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
        """The ids of documents, given by ascending numbers."""
        ends = np.searchsorted(numbers, self._bases).tolist()
        ids: list[str] = []
        for shard, base, first, last in zip(
            self._shards, self._bases, ends, ends[1:], strict=False
        ):
            ids += shard.documents.ids.chosen(numbers[first:last] - base)
        return ids

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        texts = {}
        for doc_id in doc_ids:
            found = shards.find(self._shards, doc_id)
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
            place = self.folder / shards.SHARDS / entry.name
            manifests.check_shard(place, entry, content=True)
            count += sum(1 for _ in place.iterdir())
            if entry.deleted is not None:
                shards.deleted(self.folder, entry)
                count += 1
        return count + 1

    def delete(self, doc_ids: Sequence[str]) -> KeptIndex:
        """The index without some documents.

        Raises:
            InputError: a document that is not in it; nothing is deleted then.
        """
        with writer.writing(self.folder):
            changes.delete(self.folder, doc_ids)
        return self.reopened()

    def merge(self) -> KeptIndex:
        """The index as one shard, without deleted documents."""
        with writer.writing(self.folder):
            changes.merge(self.folder, self._form.merge)
        return self.reopened()

    def add(self, data: Any, *, memory: int = writer.MEMORY, progress: bool = True) -> KeptIndex:
        """The index with the documents of a dataset, too.

        Args:
            data: a dataset or its id, or documents, as `ir.load` takes them.
            memory: bytes for postings while a shard is built.
            progress: whether to show a bar on a terminal.

        Raises:
            InputError: a document whose id is in the index; other documents are only partly in.
        """
        from irtoolkit.ranking.build_index import dataset_with, reading_of

        reading, maker = (
            reading_of(dataset_with(data), self.manifest.view),
            self._form.maker(memory),
        )
        with writer.writing(self.folder):
            writer.put(writer.Target(self.folder), reading, maker, progress=progress)
        return self.reopened()

    def settings(self) -> Mapping[str, Any]:
        return {**self.manifest.parameters, **self.retriever.settings()}

    def with_settings(self, **settings: Any) -> KeptIndex:
        return KeptIndex(self.folder, {**self._settings, **settings}) if settings else self

    def __reduce__(self) -> Any:
        # Mapped files stay with this process; another one opens them.
        return KeptIndex, (self.folder, self._settings)

    def reopened(self) -> KeptIndex:
        """The index as it is on disk now."""
        return KeptIndex(self.folder, self._settings)


def _searchable(folder: Path) -> Manifest:
    """The manifest of an index, without documents of which only a part is in."""
    manifest = Manifest.read(folder)
    settled = manifest.settled()
    if not settled.sources:
        what = "holds no documents yet"
        if manifest.sources:
            last = manifest.sources[-1]
            what = f"is not complete: {last.documents:,} documents of {last.name} are in"
        raise InputError(
            f"the index {folder} {what}",
            remedy="the command that builds it continues when it is run again",
        )
    return settled


def refuse_other(known: Manifest, form: KeptForm, folder: Path) -> None:
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


def is_index(place: str | Path) -> bool:
    """Whether a folder holds an index."""
    return (Path(place) / manifests.NAME).is_file()


def _distinct(numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct numbers below a size in ascending order, and the place of each among them."""
    if len(numbers) < size // 16:
        return np.unique(numbers, return_inverse=True)
    # Looked up, where that takes less than sorting.
    seen = np.zeros(size, bool)
    seen[numbers] = True
    distinct = np.flatnonzero(seen)
    places = np.empty(size, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[numbers]

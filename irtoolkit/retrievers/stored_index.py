"""Indexes in folders: opened in milliseconds, searched, added to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments, id_array
from irtoolkit.base.paths import StrPath, place_of, shown
from irtoolkit.engines.engine import current
from irtoolkit.indexes import changes, shards, writer
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.index_format import IndexFormat, Searcher
from irtoolkit.indexes.manifest import NAME, Manifest
from irtoolkit.indexes.remote import local_index, verify
from irtoolkit.indexes.remote_writer import changing
from irtoolkit.indexes.spread import SpreadShards
from irtoolkit.retrievers.hits import MatchedPlaces
from irtoolkit.retrievers.index import Index, listed_ids
from irtoolkit.retrievers.index_folder import (
    check_not_cached,
    check_retriever,
    check_same,
    live,
    opened_index,
    retriever_of,
    verify_folder,
)
from irtoolkit.runs import Run

if TYPE_CHECKING:
    from irtoolkit.retrievers.base import Retriever

T = TypeVar("T")


class StoredIndex(Index):
    """An index in a folder, opened.

    It has the documents that were in the index when it was opened; `add`, `delete` and `merge` return
    the index as it is then. One that searches for the first time after the index was changed and
    merged raises InputError, because its files are gone. One that is pickled opens the index anew.

    Args:
        folder: the index: a folder or a URL, which is copied to this machine.
        settings: of the search, in place of those it was built with, such as k1.
        retriever: what searches, where another one has built the index. It takes its own settings by
            default.

    Attributes:
        open_shards: its shards, as they were when it was opened.
        was_there: whether `build` found it complete, and has built nothing.

    Raises:
        InputError: there is no index, it is damaged, of another format, only partly built; or a
            retriever or setting that needs other documents.
    """

    def __init__(
        self,
        folder: StrPath,
        settings: Mapping[str, Any] | None = None,
        retriever: str | None = None,
    ) -> None:
        self._open(folder)
        self.searched_by = retriever or self.manifest.retriever
        self._settings = dict(settings or {})
        if not self._is_builders:
            check_retriever(self.manifest, self.retriever, self.folder)
        if self._settings or not self._is_builders:
            self._checked_format()
        if self._settings:
            from irtoolkit.retrievers.settings import check_settings_used

            check_settings_used(self.retriever, self._settings)

    @classmethod
    def searched_with(
        cls, folder: StrPath, retriever: Retriever, manifest: Manifest | None = None
    ) -> StoredIndex:
        """Returns an index as a retriever searches it that prepares documents as its builder did."""
        index = object.__new__(cls)
        index._open(folder, manifest)
        index.retriever, index.searched_by = retriever, retriever.name
        index._settings = retriever.given()
        if index._is_builders:
            settings = json.loads(json.dumps(retriever.settings()))
            parameters = index.manifest.parameters
            index._settings = {k: settings[k] for k in settings if settings[k] != parameters.get(k)}
        return index

    def _open(self, folder: StrPath, manifest: Manifest | None = None) -> None:
        self.place, self.folder = place_of(folder), local_index(folder)
        self.name = shown(folder)
        self.was_there = False
        self.manifest, self.open_shards = opened_index(self.folder, manifest)
        self._spread: tuple[Any, Searcher] | None = None

    @property
    def _is_builders(self) -> bool:
        """Whether the retriever searches that the index was built for."""
        return self.searched_by == self.manifest.retriever

    @cached_property
    def retriever(self) -> Retriever:
        """The retriever that searches."""
        return retriever_of(self.manifest, self.searched_by, self._settings)

    @cached_property
    def searcher(self) -> Searcher:
        """The searcher of the shards in this process; InputError if they were changed and merged."""
        return self._despite_merging(self._searcher)

    def _despite_merging(self, work: Callable[[], T]) -> T:
        """Returns the result of some work on the shards, if need be on the shard they were merged into."""
        try:
            return work()
        except (InputError, OSError):
            if all(shard.documents.folder.is_dir() for shard in self.open_shards):
                raise
        now, merged = opened_index(self.folder)
        if replace(now, shards=self.manifest.shards) != self.manifest or live(merged) != len(self):
            raise InputError(
                f"the index {self.folder} was changed and merged since it was opened",
                remedy="open it again",
            )
        # The same documents in one shard.
        self.manifest, self.open_shards = now, merged
        self.__dict__.pop("searcher", None)
        return work()

    def _searcher(self) -> Searcher:
        if self.manifest.retriever == "bm25" and self._is_builders and not self._settings:
            from irtoolkit.retrievers.postings_index import bm25_searcher

            # The first result of a process waits for no more than this needs.
            return bm25_searcher(self.manifest.parameters, self.open_shards, self.folder / NAME)
        return self._checked_format().open(self.open_shards)

    def _checked_format(self) -> IndexFormat:
        """Returns the format in which the retriever searches, which must be that of the index."""
        index_format = self.retriever.needed_format()
        check_same(self.manifest, index_format, self.folder)
        return index_format

    def _searching(self) -> Searcher:
        """Returns the searcher of the shards: here, or in all workers if there are several of both."""
        workers = current().workers
        if workers < 2 or len(self.manifest.shards) < 2:
            return self.searcher
        key = workers, self.manifest
        if self._spread is None or self._spread[0] != key:
            from irtoolkit.retrievers.sent import OpenedBy

            form = self._checked_format()
            opened = SpreadShards(self.place, self.manifest, OpenedBy(self.retriever), workers)
            self._spread = key, form.searcher(opened)
        return self._spread[1]

    def __len__(self) -> int:
        return live(self.open_shards)

    def _rank(self, queries: Mapping[str, str], depth: int) -> Run:
        return self.run(id_array(list(queries)), [(text,) for text in queries.values()], depth)

    def _best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        return self._despite_merging(lambda: self._searching().best(query, depth))

    def run(
        self, query_ids: Any, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> Run:
        """The best documents of some queries, given as segments, as a run without ties.

        `fill` lists documents that share no term with the query, too.
        """
        return self._despite_merging(
            lambda: self._searching().run(
                query_ids, queries, depth, tag=self.searched_by, fill=fill
            )
        )

    def exact_ranks(
        self,
        query_ids: Sequence[str],
        queries: Sequence[Segments],
        relevant: Mapping[str, Sequence[str]],
    ) -> dict[str, dict[str, int]]:
        """Returns the ranks of relevant documents; see `Searcher.exact_ranks`."""
        return self._despite_merging(
            lambda: self._searching().exact_ranks(query_ids, queries, relevant)
        )

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        texts = {}
        for doc_id in doc_ids:
            location = shards.find(self.open_shards, doc_id)
            if location is not None:
                column = self.open_shards[location[0]].documents.texts
                texts[doc_id] = "" if column is None else column[location[1]]
        return texts

    def _texts_of_hits(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        texts = self._texts(doc_ids)
        lost = next((doc_id for doc_id in doc_ids if doc_id not in texts), None)
        if lost is not None:
            raise DamagedIndexError(
                f"damaged: document {lost} is not found by its id", file=self.folder
            )
        return texts

    def _matches(self, query: str, text: str) -> MatchedPlaces:
        return tuple(self.searcher.matched((query,), text))

    def bytes(self) -> int:
        """Bytes on disk now."""
        folders = [self.folder / shards.SHARDS / entry.name for entry in self.manifest.shards]
        # A copy of an index at a URL may have shards of before, too.
        places = folders if isinstance(self.place, str) else [self.folder]
        files = (path for folder in places for path in folder.rglob("*"))
        return sum(path.stat().st_size for path in files if path.is_file())

    def verify(self) -> int:
        """Reads every byte of the index as it is on disk now; the number of files that were read.

        Raises:
            InputError: names the first file that is not what was written.
        """
        return verify(self.place) if isinstance(self.place, str) else verify_folder(self.folder)

    def delete(self, doc_ids: str | Iterable[str]) -> StoredIndex:
        """The index without some documents; one string is one id.

        Raises:
            InputError: a document that is not in it, or an id that is not a string; nothing is
                deleted then. The index of a dataset in irtoolkit's cache, which stays as it is.
        """
        check_not_cached(self.manifest, self.folder)
        gone = listed_ids(doc_ids)
        with changing(self.place) as folder:
            changes.delete(folder, gone)
        return self.reopened()

    def merge(self) -> StoredIndex:
        """The index as one shard, without deleted documents."""
        with changing(self.place) as folder:
            changes.merge(folder, self.retriever.needed_format().merge)
        return self.reopened()

    def add(self, data: Any, *, memory: int = writer.MEMORY, progress: bool = True) -> StoredIndex:
        """The index with the documents of a dataset, too.

        Args:
            data: a dataset or its id, or documents, as `ir.load` takes them.
            memory: bytes for postings while a shard is built.
            progress: whether to show a bar on a terminal.

        Raises:
            InputError: a document whose id is in the index; other documents are only partly in; the
                index of a dataset in irtoolkit's cache, which stays as it is.
        """
        check_not_cached(self.manifest, self.folder)
        self._checked_format()
        from irtoolkit.retrievers.index_sources import (
            MadeBy,
            dataset_with,
            put_documents,
            reading_of,
            source_of,
        )

        dataset, view = dataset_with(data), self.manifest.view
        reading = reading_of(dataset, source_of(dataset, view), view)
        make = MadeBy(self.retriever, memory)
        with changing(self.place) as folder:
            put_documents(writer.Target(folder), reading, make, progress=progress)
        return self.reopened()

    def settings(self) -> Mapping[str, Any]:
        parameters = self.manifest.parameters if self._is_builders else {}
        return {**parameters, **self.retriever.settings()}

    def with_settings(self, **settings: Any) -> StoredIndex:
        if not settings:
            return self
        changed = StoredIndex(self.place, {**self._settings, **settings}, self.searched_by)
        changed.manifest, changed.open_shards = self.manifest, self.open_shards
        return changed

    def __reduce__(self) -> Any:
        # Mapped files stay with this process; another one opens them.
        return StoredIndex, (self.place, self._settings, self.searched_by)

    def reopened(self) -> StoredIndex:
        """The index as it is on disk now."""
        return StoredIndex(self.place, self._settings, self.searched_by)

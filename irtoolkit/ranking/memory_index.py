"""Documents prepared in this process, and searched by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import IrDataset
from irtoolkit.indexes.index_format import Searcher
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import TextQuery
from irtoolkit.retrievers.hits import MatchedPlaces
from irtoolkit.retrievers.index import Index
from irtoolkit.retrievers.texts import text_batches, view
from irtoolkit.runs import Run


class MemoryIndex(Index):
    """Documents that are prepared in this process and held in memory.

    The whole corpus is searched, whatever candidates a dataset has for its own queries.

    Args:
        data: a dataset; its queries and judgments are not used.
        system: what searches.

    Raises:
        InputError: no documents; a first stage, which an index has none of; or what the system
            lacks to run here.
    """

    def __init__(self, data: Dataset, system: System) -> None:
        check_indexable(data, system)
        check_runnable(system)
        self.system, self.name, self.searched_by = system, data.id, system.name
        self._store = data.docs_store()
        self._prepared = _searcher(data, system.on(data.lang)) or _session(data, system)

    def __len__(self) -> int:
        prepared = self._prepared
        return len(prepared) if isinstance(prepared, SystemSession) else prepared.shards.size

    def _rank(self, queries: Mapping[str, str], depth: int) -> Run:
        prepared = self._prepared
        if isinstance(prepared, Searcher):
            texts = [(text,) for text in queries.values()]
            return prepared.run(id_array(list(queries)), texts, depth, tag=self.system.name)
        rankings = prepared.rank([TextQuery(*query) for query in queries.items()], depth=depth)
        return Run.from_rows(
            (
                (query_id, str(doc_id), score)
                for query_id, ranking in zip(queries, rankings, strict=True)
                for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True)
            ),
            self.system.name,
        )

    def _best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        if isinstance(self._prepared, Searcher):
            return self._prepared.best(query, depth)
        return super()._best(query, depth)

    def _matches(self, query: str, text: str) -> MatchedPlaces:
        if isinstance(self._prepared, Searcher):
            return tuple(self._prepared.matched((query,), text))
        return ()

    def settings(self) -> Mapping[str, Any]:
        return self.system.settings()

    def with_settings(self, **settings: Any) -> MemoryIndex:
        if settings:
            raise InputError(
                f"the documents of {self.name} were prepared with other settings than"
                f" {', '.join(f'{key}={value}' for key, value in settings.items())}",
                remedy="give the settings to ir.index, or a path, to keep the index",
            )
        return self

    def add(self, data: Any) -> MemoryIndex:
        """Refused, as is `delete`: only an index in a folder changes."""
        raise self._fixed()

    def delete(self, doc_ids: Sequence[str]) -> MemoryIndex:
        """Refused; see `add`."""
        raise self._fixed()

    def _fixed(self) -> InputError:
        return InputError(
            f"the index of {self.name} is in memory, where it does not change",
            remedy="give ir.index a path=, to keep it in a folder",
        )

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        name = self.system.task.doc
        return {
            record.doc_id: " ".join(view(record, name))
            for record in self._store.get_many_iter(doc_ids)
        }


def _searcher(data: Dataset, system: System) -> Searcher | None:
    """Returns what searches the documents as an index in a folder would; None where nothing does.

    Raises:
        InputError: no documents.
    """
    form = system.retriever.index_format()
    if form is None:
        return None
    blocks = list(text_batches(data, system.task.doc))
    ids = [doc_id for names, _ in blocks for doc_id in names]
    if not ids:
        raise InputError(f"dataset {data.id} has no docs, so there is nothing to rank")
    shards = form.in_memory((segments for _, texts in blocks for segments in texts), ids)
    return None if shards is None else form.searcher(shards)


def _session(data: Dataset, system: System) -> SystemSession:
    """Returns a session for documents that no searcher finds."""
    corpus = IrDataset(data.docs_handler())
    session = SystemSession(system, Dataset(data.id, corpus, in_memory=True))
    session.prepare()
    return session


def check_indexable(data: Dataset, system: System) -> None:
    """Raises InputError for a system with a first stage, or a dataset without documents."""
    if system.first is not None:
        raise InputError(
            f"system {system.name} ranks again what {system.first.name} has found",
            remedy="index with one of the two retrievers",
        )
    if not data.has("docs"):
        raise InputError(f"dataset {data.id} has no documents to index")

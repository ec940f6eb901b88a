"""ir_datasets handlers that read their data from functions, the first time they are used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, Self

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, BaseScoredDocs
from ir_datasets.indices import Docstore, PickleLz4FullStore

from irtoolkit.base.records import PoolDoc
from irtoolkit.datasets.books import Passages
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.columns import Records
from irtoolkit.datasets.registration import with_real_types


class LazySequence:
    """An iterator that can also be indexed and sliced, as ir_datasets' docs_iter is."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items
        self._iterator = iter(items)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._iterator)

    def __getitem__(self, key: int | slice) -> Any:
        if not isinstance(key, slice):
            return self._items[key]
        # ir_datasets also takes fractions of the whole, as in docs_iter()[:1/3].
        start, stop, step = (
            int(part * len(self._items)) if isinstance(part, float) else part
            for part in (key.start, key.stop, key.step)
        )
        return LazySequence(self._items[start:stop:step])


class MappingDocstore(Docstore):  # type: ignore[misc]
    """Looks up documents by id in a mapping."""

    def __init__(self, doc_cls: type, docs: Mapping[str, Any]) -> None:
        super().__init__(doc_cls)
        self._docs = docs

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        if isinstance(self._docs, Records | Passages):
            return self._docs.many(doc_ids)
        return (self._docs[doc_id] for doc_id in doc_ids if doc_id in self._docs)


class DocsHandler(BaseDocs):  # type: ignore[misc]
    """Documents from a function that returns {document id: record}."""

    def __init__(
        self,
        load: Callable[[], Mapping[str, Any]],
        cls: type,
        namespace: str,
        lang: str | None,
        key: Callable[[], str] | None = None,
    ) -> None:
        """Takes `key`, which returns a key of the documents without reading them all."""
        self._load, self._cls = load, with_real_types(cls)
        self._namespace, self._lang = namespace, lang
        self._key = key

    @classmethod
    def of_release(
        cls, load: Callable[[], Any], record: type, namespace: str, lang: str | None
    ) -> Self:
        """Returns the documents of a parsed release, which has `docs` and their `key`."""
        return cls(lambda: load().docs, record, namespace, lang, lambda: load().key)

    def docs_iter(self) -> LazySequence:
        # A mapping whose values are a sequence makes only the records that are used.
        values = self._load().values()
        return LazySequence(values if isinstance(values, Sequence) else list(values))

    def docs_store(self, options: Any = None) -> MappingDocstore:
        """Returns a look-up by id; ir_datasets' options concern files, which are not read here."""
        return MappingDocstore(self._cls, self._load())

    def docs_count(self) -> int:
        return len(self._load())

    def docs_key(self) -> str | None:
        """Returns a key that changes with the documents; None if only reading them would tell."""
        return None if self._key is None else self._key()

    def by_id(self) -> Mapping[str, Any]:
        """Returns {document id: record}, as it was loaded."""
        return self._load()

    def docs_cls(self) -> type:
        return self._cls

    def docs_namespace(self) -> str:
        return self._namespace

    def docs_lang(self) -> str | None:
        return self._lang


class QueriesHandler(BaseQueries):  # type: ignore[misc]
    """Queries from a function that returns a sequence of records."""

    def __init__(
        self, load: Callable[[], Sequence[Any]], cls: type, namespace: str, lang: str | None
    ) -> None:
        self._load, self._cls = load, with_real_types(cls)
        self._namespace, self._lang = namespace, lang

    def queries_iter(self) -> Iterator[Any]:
        return iter(self._load())

    def queries_count(self) -> int:
        return len(self._load())

    def queries_cls(self) -> type:
        return self._cls

    def queries_namespace(self) -> str:
        return self._namespace

    def queries_lang(self) -> str | None:
        return self._lang


class QrelsHandler(BaseQrels):  # type: ignore[misc]
    """Relevance judgments from a function that returns an iterable of records."""

    def __init__(
        self, load: Callable[[], Iterable[Any]], cls: type, definitions: Mapping[int, str]
    ) -> None:
        self._load, self._cls = load, with_real_types(cls)
        self._definitions = dict(definitions)

    def qrels_iter(self) -> Iterator[Any]:
        return iter(self._load())

    def qrels_count(self) -> int:
        rows = self._load()
        return len(rows) if isinstance(rows, Sized) else sum(1 for _ in rows)

    def qrels_cls(self) -> type:
        return self._cls

    def qrels_defs(self) -> dict[int, str]:
        return self._definitions


class CandidatesHandler(BaseScoredDocs):  # type: ignore[misc]
    """Candidates that many queries share, from a function that returns groups of them.

    A group is (query ids, ids of the documents that each of these queries ranks); a query is in one
    group. irtoolkit reads `candidate_groups`; `scoreddocs_iter`, which every ir_datasets user knows,
    repeats the candidates for each query.
    """

    def __init__(self, load: Callable[[], Iterable[tuple[Sequence[str], Sequence[str]]]]) -> None:
        self._load = load

    def candidate_groups(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        return iter(self._load())

    def scoreddocs_iter(self) -> Iterator[PoolDoc]:
        return (
            PoolDoc(query_id, doc_id)
            for query_ids, doc_ids in self._load()
            for query_id in query_ids
            for doc_id in doc_ids
        )

    def scoreddocs_count(self) -> int:
        return sum(len(query_ids) * len(doc_ids) for query_ids, doc_ids in self._load())

    def scoreddocs_cls(self) -> type:
        return PoolDoc


class PoolsHandler(CandidatesHandler):
    """Candidate pools from a function that returns (query id, document ids) pairs."""

    def __init__(self, load: Callable[[], Iterable[tuple[str, Sequence[str]]]]) -> None:
        super().__init__(lambda: (([query_id], doc_ids) for query_id, doc_ids in load()))


def docs_key(handler: Any) -> str | None:
    """Returns a key that changes with a handler's documents; None if only reading them would tell.

    Our handlers know it. Documents of ir_datasets' own datasets are in files from which it reads
    them once they are built, and which `content_hash` reads once.
    """
    if isinstance(handler, DocsHandler):
        return handler.docs_key()
    store: Any = handler.docs_store() if hasattr(handler, "docs_store") else None
    if type(store) is not PickleLz4FullStore or not store.built():
        return None
    digest = hashlib.sha256(f"{ir_datasets.__version__} {handler.docs_cls()._fields}".encode())
    for path in sorted(Path(store.path).iterdir()):
        digest.update(f"\n{path.name} {content_hash(path)}".encode())
    return f"docs-{digest.hexdigest()[:40]}"

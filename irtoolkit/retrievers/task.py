"""What a retriever is given: texts of queries and documents, and who competes with whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, id_array, translate
from irtoolkit.datasets.dataset import candidates, load_dataset
from irtoolkit.runs import Run

# A text in parts: the sentences of an abstract, or one part for a text that is not divided.
Segments = tuple[str, ...]
DEFAULT_VIEW = "default"
# The view in which a token stands for what was taken out of a text, and the usual token.
MASKED, MASK_TOKEN = "masked", "[MASK]"
# Documents read from a collection at once.
BLOCK_DOCS = 1 << 13


@dataclass(frozen=True)
class Group:
    """Queries that rank the same candidates."""

    queries: Ints
    docs: Ints


class Docs(Sequence[Segments]):
    """The texts of some documents in order; they are never held all at once."""

    def __init__(
        self, dataset: Any, dataset_id: str, doc_ids: Ids, doc_view: str, whole: bool = False
    ) -> None:
        """`whole` says that these are all documents of the dataset in its own order."""
        self._dataset, self._dataset_id = dataset, dataset_id
        self._doc_ids, self._view, self._whole = doc_ids, doc_view, whole

    def __len__(self) -> int:
        return len(self._doc_ids)

    @overload
    def __getitem__(self, key: int) -> Segments: ...
    @overload
    def __getitem__(self, key: slice | Ints) -> Docs: ...
    def __getitem__(self, key: int | slice | Ints) -> Segments | Docs:
        if isinstance(key, slice | np.ndarray):
            return Docs(self._dataset, self._dataset_id, self._doc_ids[key], self._view)
        return next(iter(self[np.array([key])]))

    def __iter__(self) -> Iterator[Segments]:
        if self._whole:
            yield from (view(record, self._view) for record in self._dataset.docs_iter())
            return
        store = self._dataset.docs_store()
        for start in range(0, len(self), BLOCK_DOCS):
            ids = self._doc_ids[start : start + BLOCK_DOCS]
            # A store may give documents in any order, and each once.
            records = {doc.doc_id: doc for doc in store.get_many_iter(ids)}
            for doc_id in ids:
                if doc_id not in records:
                    raise InputError(f"candidate {doc_id} has no text in {self._dataset_id}")
                yield view(records[doc_id], self._view)


@dataclass(frozen=True)
class Task:
    """The queries of a dataset, and for each the documents it ranks. There are no qrels in it.

    Attributes:
        dataset_id: the ir_datasets id.
        query_ids: (Q,) ids.
        doc_ids: (D,) ids of every candidate of any query.
        groups: each query stands in exactly one.
        query_view, doc_view: the fields that give a record's text, joined by "+"; "default"
            is ir_datasets' default_text.
        drop_self: whether a query's own document has been taken out of its candidates.
        picked: whether the candidates are the best of another run; see `among`.
    """

    dataset_id: str
    query_ids: Ids
    doc_ids: Ids
    groups: tuple[Group, ...]
    query_view: str = DEFAULT_VIEW
    doc_view: str = DEFAULT_VIEW
    drop_self: bool = False
    _dataset: Any = field(default=None, repr=False)
    picked: bool = False

    @cached_property
    def queries(self) -> list[Segments]:
        """(Q,) text of each query."""
        return [view(query, self.query_view) for query in self._dataset.queries_iter()]

    def query_fields(self, name: str) -> list[Segments]:
        """(Q,) text of each query under another view than the task's own; see `view`.

        Raises:
            InputError: the queries have no such field; names those they have.
        """
        return [view(query, name) for query in self._dataset.queries_iter()]

    @property
    def docs(self) -> Docs:
        """(D,) text of each candidate document, read from the collection when it is asked for."""
        return Docs(self._dataset, self.dataset_id, self.doc_ids, self.doc_view, self.ranks_corpus)

    @property
    def ranks_corpus(self) -> bool:
        """Whether every query ranks every document of the collection, in the collection's order."""
        return (
            len(self.groups) == 1
            and not self.picked
            and not self._dataset.has_scoreddocs()
            and len(self.groups[0].docs) == len(self.doc_ids)
        )

    def among(self, run: Run, depth: int | None = None) -> Task:
        """The same queries, each with its best documents of a run as candidates, best first.

        A query that the run does not have has no candidates.

        Raises:
            InputError: the run has a query or a document that is not this task's, or a document
                that is no candidate of its query.
        """
        if depth is not None and depth < 1:
            raise InputError(f"depth {depth} is not at least 1")
        place = translate(run.query_ids, self.query_ids)
        known = translate(run.doc_ids, self.doc_ids)
        for kind, ids, found in (
            ("query", run.query_ids, place), ("document", run.doc_ids[run.docs], known[run.docs])
        ):  # fmt: skip
            if (found < 0).any():
                raise InputError(
                    f"{kind} {ids[np.argmax(found < 0)]} of the run {run.tag} is not in"
                    f" {self.dataset_id}",
                    remedy="it is a run on another collection",
                )
        pools = [np.empty(0, np.int64)] * len(self.query_ids)
        for at, query in enumerate(place):
            pools[query] = known[run.docs[run.offsets[at] : run.offsets[at + 1]]]
        for group in self.groups:
            if len(group.docs) == len(self.doc_ids):  # everything is a candidate
                continue
            for query in group.queries:
                strange = ~np.isin(pools[query], group.docs)
                if strange.any():
                    raise InputError(
                        f"document {self.doc_ids[pools[query][np.argmax(strange)]]} of the run"
                        f" {run.tag} is no candidate of query {self.query_ids[query]}",
                        remedy="it is a run on other candidates",
                    )
        pools = [pool[:depth] for pool in pools]
        kept, places = np.unique(np.concatenate(pools), return_inverse=True)
        cuts = np.cumsum([len(pool) for pool in pools])[:-1]
        groups = tuple(
            Group(np.array([query]), docs) for query, docs in enumerate(np.split(places, cuts))
        )
        return replace(self, doc_ids=self.doc_ids[kept], groups=groups, picked=True)

    def corpus(self) -> Iterator[Segments]:
        """The text of every document of the collection, candidate or not."""
        return (view(doc, self.doc_view) for doc in self._dataset.docs_iter())


def load_task(
    dataset_id: str,
    *,
    query: str = DEFAULT_VIEW,
    doc: str = DEFAULT_VIEW,
    own: Literal["keep", "drop"] = "keep",
) -> Task:
    """The retrieval task of any ir_datasets id.

    Candidates are the dataset's scoreddocs where it has them, else its whole corpus.

    Args:
        dataset_id: one of ours or of ir_datasets.
        query: view of the queries, e.g. "facet_sentences" or "title+abstract".
        doc: view of the documents.
        own: "drop" takes a query's own document (its `doc_id`) out of its candidates.

    Raises:
        InputError: no such dataset or view, or no queries or documents in it.
    """
    dataset = load_dataset(dataset_id)
    for kind in ("queries", "docs"):
        if not dataset.has(kind):
            raise InputError(f"dataset {dataset_id} has no {kind}, so there is nothing to rank")
    queries = list(dataset.queries_iter())
    query_ids = id_array([record.query_id for record in queries])
    if not queries:
        raise InputError(f"dataset {dataset_id} has no queries, so there is nothing to rank")
    if len(set(query_ids)) != len(query_ids):
        twice = next(name for i, name in enumerate(query_ids) if name in query_ids[:i])
        raise InputError(f"query {twice} stands twice in dataset {dataset_id}")
    doc_ids, pools = _candidates(dataset, list(query_ids))
    if not doc_ids and not any(True for _ in dataset.docs_iter()):
        raise InputError(f"dataset {dataset_id} has no docs, so there is nothing to rank")
    if own == "drop":
        index = {doc_id: i for i, doc_id in enumerate(doc_ids)}
        pools = {
            record.query_id: _without(pools[record.query_id], index.get(_own(record, dataset_id)))
            for record in queries
        }
    task = Task(
        dataset_id, query_ids, id_array(doc_ids), _groups(pools.values()), query, doc,
        own == "drop", _dataset=dataset,
    )  # fmt: skip
    # A view that is not there is refused now, not after an hour of indexing.
    view(queries[0], query)
    for record in dataset.docs_store().get_many_iter(task.doc_ids[:1]):
        view(record, doc)
    return task


def _candidates(dataset: Any, query_ids: list[str]) -> tuple[list[str], dict[str, list[int]]]:
    """Ids of all candidates, and for each query its own as indices; queries may share a list."""
    index: dict[str, int] = {}
    pools: dict[str, list[int]] = {query_id: [] for query_id in query_ids}
    for members, doc_ids in candidates(dataset):
        asked = [query_id for query_id in members if query_id in pools]
        if asked:
            shared = [index.setdefault(doc_id, len(index)) for doc_id in doc_ids]
            pools.update(dict.fromkeys(asked, shared))
    return list(index), pools


def view(record: Any, name: str) -> Segments:
    """The text of a record under a view: fields joined by "+", each a string or strings.

    Where something was taken out of a text, "masked" puts [MASK] in its place, and "masked:TOKEN"
    another token.

    Raises:
        InputError: the record has no such field, or it holds no text; names those that do.
    """
    if name == DEFAULT_VIEW:
        return (record.default_text(),)
    kind, marked, token = name.partition(":")
    if kind == MASKED and hasattr(record, "with_mask"):
        return (record.with_mask(token if marked else MASK_TOKEN),)
    segments: list[str] = []
    for part in name.split("+"):
        value = _text(record, part)
        if value is not None:
            segments.extend(value)
        else:
            names = [
                n
                for n in (*record._fields, *_properties(type(record)))
                if _text(record, n) is not None
            ]
            raise InputError(
                f"{type(record).__name__} has no text field {part!r}",
                remedy=f"fields are {', '.join(sorted(names))}; or {DEFAULT_VIEW}",
            )
    return tuple(segments)


def _text(record: Any, name: str) -> Segments | None:
    """The text in a field, or None when it holds none, or what no retriever may see."""
    if hasattr(record, "hides") and record.hides(name):
        return None
    try:
        value = getattr(record, name, None)
    except TypeError:  # a property that joins what is no text
        return None
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _properties(cls: type) -> Iterable[str]:
    return (name for name, value in vars(cls).items() if isinstance(value, property))


def _own(record: Any, dataset_id: str) -> str:
    if not hasattr(record, "doc_id"):
        raise InputError(
            f"the queries of {dataset_id} are not documents", remedy="leave out self=drop"
        )
    return str(record.doc_id)


def _without(pool: list[int], doc: int | None) -> list[int]:
    return [candidate for candidate in pool if candidate != doc]


def _groups(pools: Iterable[list[int]]) -> tuple[Group, ...]:
    """Groups queries by their candidate list, which its identity or its content tells."""
    members: dict[bytes, list[int]] = {}
    arrays: dict[bytes, Ints] = {}
    keys: dict[int, bytes] = {}
    kept = list(pools)
    for query, pool in enumerate(kept):
        if id(pool) not in keys:
            array = np.array(pool, dtype=np.int64)
            keys[id(pool)] = array.tobytes()
            arrays[array.tobytes()] = array
        members.setdefault(keys[id(pool)], []).append(query)
    return tuple(Group(np.array(queries), arrays[key]) for key, queries in members.items())

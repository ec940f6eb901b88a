"""Texts of records under a view, from a dataset or as given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, Protocol, overload

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, Segments
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.books import BLOCK_VIEWS
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.node import SHARE

DEFAULT_VIEW = "default"
# The view in which a token takes the place of what was removed from a text, and the usual token.
MASKED, MASKED_LEFT, MASK_TOKEN = "masked", "masked-left", "[MASK]"
# Documents read from a collection at once.
BLOCK_DOCS = 1 << 13


def text_batches(
    dataset: Dataset, name: str, start: int = 0, size: int = BLOCK_DOCS
) -> Iterator[tuple[list[str], list[Segments]]]:
    """Ids and texts of all documents of a dataset under a view, in its order, block by block.

    Args:
        dataset: whose documents.
        name: the view; see `view`.
        start: the number of the first document that is read, from 0.
        size: documents in a block; the last block may have fewer.

    Raises:
        InputError: the documents have no such view.
    """
    passages = dataset.passages()
    if passages is not None and name in BLOCK_VIEWS:
        for first in range(start, len(passages), size):
            yield passages.block(first, min(first + size, len(passages)), name)
        return
    records = iter(_records_from(dataset.docs_iter(), start))
    while block := list(islice(records, size)):
        yield [doc.doc_id for doc in block], [view(doc, name) for doc in block]


def _records_from(records: Any, start: int) -> Iterable[Any]:
    """Records from a number on; those before it are not read where the iterator can be sliced."""
    if not start:
        return records  # type: ignore[no-any-return]
    if hasattr(records, "__getitem__"):
        return records[start:]  # type: ignore[no-any-return]
    return islice(records, start, None)


class DocTexts(Sequence[Segments]):
    """The texts of some documents in order, read from a dataset block by block."""

    def __init__(self, dataset: Dataset, doc_ids: Ids, doc_view: str, whole: bool = False) -> None:
        """`whole` says that these are all documents of the dataset in its own order."""
        self._dataset, self._doc_ids, self._view, self._whole = dataset, doc_ids, doc_view, whole

    def __len__(self) -> int:
        return len(self._doc_ids)

    @overload
    def __getitem__(self, key: int) -> Segments: ...
    @overload
    def __getitem__(self, key: slice | Ints) -> DocTexts: ...
    def __getitem__(self, key: int | slice | Ints) -> Segments | DocTexts:
        if isinstance(key, slice | np.ndarray):
            return DocTexts(self._dataset, self._doc_ids[key], self._view)
        return next(iter(self[np.array([key])]))

    def __iter__(self) -> Iterator[Segments]:
        if self._whole:
            for _, texts in text_batches(self._dataset, self._view):
                yield from texts
            return
        passages = self._dataset.passages() if self._view in BLOCK_VIEWS else None
        if passages is not None:
            places = passages.places(self._doc_ids)
            if (places < 0).any():
                raise no_text(self._doc_ids[np.argmax(places < 0)], self._dataset)
            yield from passages.texts(places, self._view)
            return
        store = self._dataset.docs_store()
        for start in range(0, len(self), BLOCK_DOCS):
            ids = self._doc_ids[start : start + BLOCK_DOCS]
            # A store may give documents in any order, and each once.
            records = {doc.doc_id: doc for doc in store.get_many_iter(ids)}
            for doc_id in ids:
                if doc_id not in records:
                    raise no_text(doc_id, self._dataset)
                yield view(records[doc_id], self._view)


def no_text(doc_id: str, dataset: Dataset) -> InputError:
    """The error for a candidate that is no document of its dataset."""
    return InputError(f"candidate {doc_id} has no text in {dataset.id}")


class TextSource(Protocol):
    """Where a task reads its texts."""

    def queries(self, view: str) -> list[Segments]:
        """(Q,) text of each query under a view."""
        ...

    def only(self, queries: Ints) -> TextSource:
        """Returns the same for some of the queries."""
        ...

    def docs(self, doc_ids: Ids, view: str, whole: bool) -> Sequence[Segments]:
        """(D,) text of each document; `whole` says that these are all, in the collection's order."""
        ...

    def corpus(self, view: str) -> Iterator[tuple[str, Segments]]:
        """Id and text of every document of the collection, candidate or not."""
        ...

    @property
    def dataset(self) -> Dataset | None:
        """The dataset that the documents are from; None where they are given."""
        ...


class DatasetTexts:
    """The texts of a dataset's records.

    Args:
        dataset: whose documents, and queries unless others are given.
        records: query records in place of the dataset's own.
    """

    def __init__(self, dataset: Dataset, records: Sequence[Any] | None = None) -> None:
        self.dataset, self._records = dataset, records
        # Of the queries in the process that this comes from, until they have been compared.
        self._key: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        is_plain = self._records is None and self.dataset.has("queries")
        key = _queries_key(self.dataset) if is_plain and self._key is None else self._key
        return {**vars(self), "_key": key}

    def queries(self, name: str) -> list[Segments]:
        """(Q,) text of each query under a view.

        Raises:
            InputError: the queries have no such view, or are not those of the driver.
        """
        if self._key is not None and self._key != _queries_key(self.dataset):
            raise InputError(
                f"the queries of {self.dataset.id} are not those of the driver", remedy=SHARE
            )
        self._key = None
        records = self.dataset.queries_iter() if self._records is None else self._records
        return [view(query, name) for query in records]

    def only(self, queries: Ints) -> DatasetTexts:
        records = self.dataset.queries if self._records is None else self._records
        return DatasetTexts(self.dataset, [records[number] for number in queries.tolist()])

    def docs(self, doc_ids: Ids, name: str, whole: bool) -> DocTexts:
        """(D,) text of each document."""
        return DocTexts(self.dataset, doc_ids, name, whole)

    def corpus(self, name: str) -> Iterator[tuple[str, Segments]]:
        """Id and text of every document."""
        for ids, texts in text_batches(self.dataset, name):
            yield from zip(ids, texts, strict=True)


class GivenTexts:
    """Texts that come with the task and have no views.

    Args:
        queries: (Q,) text of each query.
        docs: (D,) text of each document of the task.
    """

    dataset: ClassVar[None] = None

    def __init__(self, queries: Sequence[Segments], docs: Sequence[Segments]) -> None:
        self._queries, self._docs = queries, docs

    def queries(self, name: str) -> list[Segments]:
        """(Q,) text of each query."""
        return list(self._queries)

    def only(self, queries: Ints) -> GivenTexts:
        return GivenTexts([self._queries[number] for number in queries.tolist()], self._docs)

    def docs(self, doc_ids: Ids, name: str, whole: bool) -> ChosenTexts:
        return ChosenTexts(self._docs, np.arange(len(self._docs)))

    def corpus(self, name: str) -> Iterator[tuple[str, Segments]]:
        """Numbers and texts of the task's documents, which are all there are."""
        return ((str(number), segments) for number, segments in enumerate(self._docs))


class ChosenTexts(Sequence[Segments]):
    """Some of several texts, given by their positions, of which arrays of numbers choose again."""

    def __init__(self, texts: Sequence[Segments], positions: Ints) -> None:
        self._texts, self._positions = texts, positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | np.ndarray):
            return ChosenTexts(self._texts, self._positions[key])
        return self._texts[int(self._positions[key])]


def _queries_key(dataset: Dataset) -> str:
    """A hash of the ids and texts of a dataset's queries."""
    digest = hashlib.sha256()
    for record in dataset.queries_iter():
        for name in record._fields:
            digest.update("\x1f".join((name, *(_text(record, name) or ()), "\x1e")).encode())
    return digest.hexdigest()


class NoFieldError(InputError):
    """Records have no field of text that a view names."""


def view(record: Any, name: str) -> Segments:
    """The text of a record under a view: fields joined by "+", each a string or strings.

    Where something was taken out of a text, "masked" puts [MASK] in its place, and "masked:TOKEN"
    another token; "masked-left" and "masked-left:TOKEN" leave out what follows.

    Raises:
        NoFieldError: the record has no such field, or it holds no text; names those that do.
    """
    if name == DEFAULT_VIEW:
        return (record.default_text(),)
    token, has_left = mask_of(name), name.startswith(MASKED_LEFT)
    needs = ("with_mask", "right") if has_left else ("with_mask",)
    if token is not None and all(hasattr(record, attribute) for attribute in needs):
        if has_left:
            record = record._replace(right=type(record.right)())
        return (record.with_mask(token),)
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
            raise NoFieldError(
                f"{type(record).__name__} has no text field {part!r}",
                remedy=f"{did_you_mean(part, names)}fields are {', '.join(sorted(names))}; or {DEFAULT_VIEW}",
            )
    return tuple(segments)


def mask_of(name: str) -> str | None:
    """The token that a masked view puts in place of what was removed; None of another view."""
    kind, marked, token = name.partition(":")
    if kind not in (MASKED, MASKED_LEFT):
        return None
    return token if marked else MASK_TOKEN


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


def own_document(record: Any, dataset_id: str) -> str:
    if not hasattr(record, "doc_id"):
        raise InputError(
            f"the queries of {dataset_id} are not documents", remedy="leave out self=drop"
        )
    return str(record.doc_id)

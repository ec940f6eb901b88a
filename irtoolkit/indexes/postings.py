"""A shard of postings: which documents have a term, how often, and how long documents are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import small
from irtoolkit.indexes.bounds import check_finite, check_length, check_numbers, check_starts
from irtoolkit.indexes.formula import Weighting, check_weights
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings, mapped

ARRAYS = ("starts", "documents", "classes", "class-counts", "class-lengths", "lengths", "bounds")
# Steps that it takes numpy to copy a posting; see `is_worth_loading`.
_COPIED = 2

# The terms of a shard and its arrays by name; see `PostingsShard`.
PostingsArrays = tuple[Strings, Mapping[str, NDArray[Any]]]


class _Weights(NamedTuple):
    """The weights of a shard's postings under a formula and an average length.

    Attributes:
        table: the weight of each class.
        most: (t,) the greatest weight of each term in a document; NaN until it is wanted.
    """

    weighting: Weighting
    average: float
    table: Floats
    most: Floats


class PostingsShard:
    """The postings of some documents, in memory or mapped from a folder.

    Attributes:
        docs: the documents.
        terms: the terms that occur, in byte order.
        starts: (t+1,) where the postings of each term begin.
        documents: (p,) numbers of documents, ascending for each term.
        classes: (p,) class of each posting. Postings of one class have the same count and a
            document of the same length, and so the same weight but for the term's own.
        class_counts, class_lengths: how often a term of a class occurs, and in how long a document.
        lengths: (d,) length of each document, in terms with repetitions.
        bounds: (t, 4) what bounds a term's weight: the shortest length of documents that have it
            once, twice, more often, or 0; and its greatest count.
    """

    def __init__(self, postings: PostingsArrays, docs: OpenShard) -> None:
        self.docs = docs
        self.terms, arrays = postings
        self.starts: Ints = arrays["starts"]
        self.documents: NDArray[np.int32] = arrays["documents"]
        self.classes: NDArray[np.unsignedinteger[Any]] = arrays["classes"]
        self.class_counts: Ints = arrays["class-counts"]
        self.class_lengths: Ints = arrays["class-lengths"]
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self.bounds: NDArray[np.int32] = arrays["bounds"]
        self._weighed: _Weights | None = None

    @classmethod
    def load(cls, docs: OpenShard) -> PostingsShard:
        """The postings of an open shard, mapped from its folder.

        Raises:
            DamagedIndexError: a column does not fit the others.
        """
        folder = docs.documents.folder
        arrays = {name: mapped(folder / f"{name}.npy") for name in ARRAYS}
        terms = Strings.load(folder, "terms")
        _check(arrays, len(terms), folder)
        return cls((terms, arrays), docs)

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def live(self) -> NDArray[np.uint8]:
        """(d,) 1 for documents that were not deleted."""
        return self.docs.live

    @property
    def keys(self) -> NDArray[np.int32]:
        """(d,) keys of the documents: of equal scores the greater comes first."""
        return self.docs.documents.keys

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The postings as the compiled loops take them."""
        return self.starts, self.documents, self.classes, self.live

    def subset(self, documents: Ints, terms: Ints | None = None) -> PostingsShard:
        """Returns the postings of some documents, which are numbered from 0.

        Args:
            documents: (c,) their numbers, ascending.
            terms: (n,) numbers of the terms whose postings are kept, -1 for none; by default all.
        """
        postings = self.starts, self.documents, self.classes
        starts, documents_of, classes = subset_of(postings, documents, terms)
        arrays = {
            "starts": starts,
            "documents": documents_of,
            "classes": classes,
            "class-counts": self.class_counts,
            "class-lengths": self.class_lengths,
            "lengths": np.asarray(self.lengths[documents]),
            "bounds": self.bounds,
        }
        docs = OpenShard.in_memory(self.docs.documents.ids.taken(documents))
        return PostingsShard((self.terms, arrays), docs)

    def weights(self, places: Ints, weighting: Weighting, average: float) -> tuple[Floats, Floats]:
        """Returns the weight of each class, and (t,) the greatest weight of each term in a document.

        Args:
            places: (t,) the numbers of the terms; the weight of one that is not there is any number.
            weighting: the formula.
            average: mean length of a document, in terms.
        """
        table, known = self._weights(weighting, average)[2:]
        if not len(self.bounds):
            return table, np.zeros(len(places))
        unknown = places[np.isnan(known[places])]
        if len(unknown):
            bounds = self.bounds[unknown].astype(np.int64)
            known[unknown] = _greatest(bounds, weighting, average)
        return table, known[places]

    def _weights(self, weighting: Weighting, average: float) -> _Weights:
        cached = self._weighed
        if cached is None or cached[:2] != (weighting, average):
            # As many as the numbers of classes can say, so that damage does not lead out of them.
            table = np.zeros(max(len(self.class_counts), 1 << 16))
            table[: len(self.class_counts)] = weighting.weights(
                self.class_counts, self.class_lengths, average
            )
            check_weights(weighting, table, least=0.0)
            most = np.full(len(self.bounds), np.nan)
            self._weighed = cached = _Weights(weighting, average, table, most)
        return cached

    def frequencies(self, places: Ints) -> Ints:
        """(t,) number of documents that have each term, given its number."""
        starts = self.starts
        counts: Ints = np.where(places >= 0, starts[places + 1] - starts[places], 0)
        if len(self.docs.deleted):
            for row in np.flatnonzero(counts).tolist():
                documents = self.documents[starts[places[row]] : starts[places[row] + 1]]
                counts[row] = int(self.live[documents].sum())
        return counts

    def live_documents(self, terms: Ints) -> Ints:
        """Returns the documents that have one of some terms, ascending."""
        rows = [
            self.documents[self.starts[term] : self.starts[term + 1]] for term in terms.tolist()
        ]
        documents = np.unique(np.concatenate([np.empty(0, np.int32), *rows])).astype(np.int64)
        live: Ints = documents[self.live[documents] == 1]
        return live

    def all_frequencies(self) -> Ints:
        """(t,) number of documents that have each of the shard's terms."""
        if not len(self.docs.deleted):
            return np.diff(self.starts)
        from irtoolkit.indexes._compiled_postings import live_postings

        counts = np.empty(len(self.terms), np.int64)
        live_postings(self.starts, self.documents, np.asarray(self.live, np.int64) - 1, counts)
        return counts

    def totals(self) -> tuple[int, int, int, int]:
        """Returns tokens, greatest count, shortest length and empty documents; see `Statistics`."""
        lengths, deleted = self.lengths, self.lengths[self.docs.deleted]
        tokens = int(lengths.sum(dtype=np.int64) - deleted.sum(dtype=np.int64))
        empty = int((lengths == 0).sum() - (deleted == 0).sum())
        if not len(self.documents):
            return tokens, 0, 0, empty
        return tokens, int(self.class_counts.max()), int(self.class_lengths.min()), empty


def _greatest(bounds: Ints, weighting: Weighting, average: float) -> Floats:
    """Returns (t,) the greatest weights of terms, given their rows of `PostingsShard.bounds`."""
    # What a term has once, twice or more often, of the shortest document each.
    counts, lengths = np.full((len(bounds), 3), (1, 2, 0)), bounds[:, :3]
    counts[:, 2] = np.maximum(bounds[:, 3], 1)
    shortest = np.maximum(lengths, 1).ravel()
    weights = weighting.weights(counts.ravel(), shortest, average)
    greatest: Floats = np.where(lengths > 0, weights.reshape(-1, 3), 0.0).max(axis=1, initial=0.0)
    return greatest


def subset_of(
    postings: tuple[Any, Any, Any], documents: Ints, terms: Ints | None = None
) -> tuple[Any, Any, Any]:
    """Returns the postings (starts, documents, values) of some documents; see `PostingsShard.subset`."""
    starts, docs, values = postings
    selected = np.ones(len(starts) - 1, bool)
    if terms is not None:
        selected[:] = False
        selected[terms[terms >= 0]] = True
    if not len(documents):
        return np.zeros_like(starts), docs[:0], values[:0]
    places = np.full(int(documents[-1] - documents[0]) + 1, -1, np.int32)
    places[documents - documents[0]] = np.arange(len(documents), dtype=np.int32)
    if not is_worth_loading(_COPIED * len(docs)):
        return small.restrict(postings, int(documents[0]), places, selected)
    room = int(np.diff(starts)[selected].sum())
    from irtoolkit.indexes._compiled_postings import restrict

    out = np.empty(len(starts), np.int64), np.empty(room, docs.dtype), np.empty(room, values.dtype)
    count = restrict(postings, documents, places, selected, out)
    return out[0], out[1][:count], out[2][:count]


def _check(arrays: Mapping[str, NDArray[Any]], terms: int, folder: Path) -> None:
    files = {name: folder / f"{name}.npy" for name in ARRAYS}
    classes, docs = len(arrays["class-counts"]), len(arrays["lengths"])
    check_starts(arrays["starts"], terms, len(arrays["documents"]), files["starts"])
    check_length(arrays["classes"], len(arrays["documents"]), files["classes"])
    check_length(arrays["class-lengths"], classes, files["class-lengths"])
    check_numbers(arrays["documents"], 0, docs, files["documents"])
    check_numbers(arrays["classes"], 0, classes, files["classes"])
    for name, least in (("class-counts", 1), ("class-lengths", 1), ("lengths", 0)):
        check_numbers(arrays[name], least, 1 << 31, files[name])
    check_finite(arrays["bounds"], files["bounds"], (terms, 4))
    check_numbers(arrays["bounds"].ravel(), 0, 1 << 31, files["bounds"])


def save_postings(folder: Path, postings: PostingsArrays) -> None:
    """Writes postings to a folder."""
    terms, arrays = postings
    terms.save(folder, "terms")
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", arrays[name])

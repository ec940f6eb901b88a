"""A shard of postings: which documents have a term, how often, and how long documents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.indexes import small
from irtoolkit.indexes.bounds import check_finite, check_length, check_numbers, check_starts
from irtoolkit.indexes.strings import Strings, mapped
from irtoolkit.indexes.tokens import Counted

ARRAYS = ("starts", "documents", "classes", "class-counts", "class-lengths", "lengths", "bounds")
# Steps that it takes numpy to copy a posting, to invert one, and to bound a term by one; see `is_worth_loading`.
_COPIED, _INVERTED, _BOUNDED = 2, 10, 5
# Cells of the grid in which pairs of count and length are numbered.
_GRID = 1 << 27


class PostingsShard:
    """The postings of some documents, in memory or mapped from a folder.

    Attributes:
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

    def __init__(self, terms: Strings, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.terms = terms
        self.starts: Ints = arrays["starts"]
        self.documents: NDArray[np.int32] = arrays["documents"]
        self.classes: NDArray[np.unsignedinteger[Any]] = arrays["classes"]
        self.class_counts: Ints = arrays["class-counts"]
        self.class_lengths: Ints = arrays["class-lengths"]
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self.bounds: NDArray[np.int32] = arrays["bounds"]

    @classmethod
    def load(cls, folder: Path) -> PostingsShard:
        """The shard of a folder, mapped.

        Raises:
            DamagedIndexError: a column does not fit the others.
        """
        arrays = {name: mapped(folder / f"{name}.npy") for name in ARRAYS}
        terms = Strings.load(folder, "terms")
        _check(arrays, len(terms), folder)
        return cls(terms, arrays)

    def save(self, folder: Path) -> None:
        """Writes the arrays to a folder."""
        self.terms.save(folder, "terms")
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name.replace("-", "_")))

    def __len__(self) -> int:
        return len(self.lengths)

    def subset(self, documents: Ints, terms: Ints | None = None) -> PostingsShard:
        """Returns the postings of some documents, which are numbered from 0.

        Args:
            documents: (c,) their numbers, ascending.
            terms: (n,) numbers of the terms whose postings are kept, -1 for none; by default all.
        """
        starts, documents_of, classes = subset_of(
            (self.starts, self.documents, self.classes), documents, terms
        )
        arrays = {
            "starts": starts,
            "documents": documents_of,
            "classes": classes,
            "class-counts": self.class_counts,
            "class-lengths": self.class_lengths,
            "lengths": np.asarray(self.lengths[documents]),
            "bounds": self.bounds,
        }
        return PostingsShard(self.terms, arrays)


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
    from irtoolkit.indexes._compiled_subset import restrict

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


class PostingsBuilder:
    """Term counts of documents as they come, and the shard that they make."""

    def __init__(self) -> None:
        self._parts: list[Counted] = []
        self.postings = 0

    def add(self, counted: Counted) -> None:
        """Takes in the counts of the next documents."""
        self._parts.append(counted)
        self.postings += len(counted.terms)

    def made(self, terms: Sequence[str]) -> PostingsShard:
        """The shard of all that was added; `terms` are the terms by number."""
        frequencies = np.zeros(len(terms), np.int64)
        for part in self._parts:
            frequencies += np.bincount(part.terms, minlength=len(terms))
        present = np.flatnonzero(frequencies).tolist()
        present.sort(key=terms.__getitem__)
        order = np.full(len(terms), -1, np.int64)
        order[present] = np.arange(len(present))
        starts = np.concatenate([[0], np.cumsum(frequencies[present])]).astype(np.int64)
        lengths = np.concatenate([np.empty(0, np.int32), *(part.lengths for part in self._parts)])
        classes = _Classes(self._parts, lengths)
        inverted = self._inverted(starts, order, classes)
        self._parts.clear()
        bounds = _bounds(starts, inverted[1], classes)
        return PostingsShard(
            Strings.of([terms[number] for number in present]),
            {
                "starts": starts,
                "documents": inverted[0],
                "classes": inverted[1],
                "lengths": lengths,
                "class-counts": classes.counts,
                "class-lengths": classes.lengths,
                "bounds": bounds,
            },
        )

    def _inverted(self, starts: Ints, order: Ints, classes: _Classes) -> tuple[Any, Any]:
        """The documents and classes of all postings; `order` is the place of each term."""
        codes = classes.count_codes, classes.length_codes, classes.grid
        if not is_worth_loading(_INVERTED * self.postings):
            return small.invert(self._parts, order, codes, classes.kind)
        from irtoolkit.indexes._compiled_postings import invert

        out = np.empty(self.postings, np.int32), np.empty(self.postings, classes.kind)
        cursors, first = starts[:-1].copy(), 0
        for part in self._parts:
            last = first + len(part.ends)
            codes = classes.count_codes, classes.length_codes[first:last], classes.grid
            invert(first, part[:3], order, codes, cursors, out)
            first = last
        return out


def _bounds(starts: Ints, classes: Any, values: _Classes) -> NDArray[np.int32]:
    """(t, 4) what bounds the weight of each term; see `PostingsShard`."""
    if not is_worth_loading(_BOUNDED * len(classes)):
        return small.extremes(starts, values.counts[classes], values.lengths[classes])
    from irtoolkit.indexes._compiled_postings import extremes

    bounds = np.empty((len(starts) - 1, 4), np.int32)
    extremes(starts, classes, values.counts, values.lengths, bounds)
    return bounds


class _Classes:
    """Numbers for the pairs of count and length that occur, in ascending order."""

    def __init__(self, parts: Sequence[Counted], lengths: NDArray[np.int32]) -> None:
        greatest = max((int(part.counts.max(initial=0)) for part in parts), default=0)
        is_used = np.zeros(greatest + 1, bool)
        for part in parts:
            is_used[part.counts] = True
        counts = np.flatnonzero(is_used)
        self.count_codes = np.cumsum(is_used) - 1
        values, self.length_codes = np.unique(lengths, return_inverse=True)
        if len(counts) * len(values) > _GRID:
            raise InputError(
                f"documents of {len(values)} lengths with {len(counts)} counts are too many at once",
                remedy="index with less memory, which makes smaller shards",
            )
        self.grid = np.zeros((len(counts), len(values)), np.int32)
        first = 0
        for part in parts:
            last = first + len(part.ends)
            lengths_of = np.repeat(self.length_codes[first:last], np.diff(part.ends, prepend=0))
            self.grid[self.count_codes[part.counts], lengths_of] = 1
            first = last
        rows, columns = np.nonzero(self.grid)
        self.grid[rows, columns] = np.arange(len(rows))
        self.counts, self.lengths = counts[rows], values[columns].astype(np.int64)
        self.kind = np.uint16 if len(rows) <= 1 << 16 else np.uint32

"""Shards of postings, made of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.analysis import Stemmer, StopWords, Tokenizer, analyzer
from irtoolkit.base.compiled import is_worth_loading, would_load
from irtoolkit.base.cores import cores
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.indexes import small
from irtoolkit.indexes.postings import PostingsArrays, save_postings
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.tokens import Counted, Counter, split_steps
from irtoolkit.indexes.writer import MEMORY

# Bytes that a byte of text and a document take while their shard is made.
_TEXT, _DOCUMENT = 4, 128
# Terms after which a vocabulary begins anew with the next shard.
_TERMS = 1 << 21
# Steps that it takes numpy to invert a posting, and to bound a term by one; see `is_worth_loading`.
_INVERTED, _BOUNDED = 10, 5
# Cells of the grid in which pairs of count and length are numbered.
_GRID = 1 << 27

Rewrite = Callable[[Iterable[Segments]], Iterable[Segments]]


class PostingsMaker:
    """Makes shards of postings.

    Args:
        tokenizer, stop, stem: see `irtoolkit.base.analysis`.
        memory: bytes that a shard may take while it is made.
        rewritten: what is indexed of some texts, such as a model's version of each.
        threads: how many tokenize; by default all cores.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        stop: StopWords,
        stem: Stemmer,
        *,
        memory: int = MEMORY,
        threads: int | None = None,
        rewritten: Rewrite | None = None,
    ) -> None:
        self._analysis = tokenizer, stop, stem
        self._memory, self._threads = memory, threads or cores()
        self._rewritten = rewritten
        self._counter = self._made_counter()

    def _made_counter(self) -> Counter:
        return Counter(self._analysis[0], analyzer(*self._analysis), self._threads)

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        if len(self._counter.terms) > _TERMS:
            self._counter.close()
            self._counter = self._made_counter()
        self._folder, self._builder = folder, PostingsBuilder()
        self._ahead: list[Future[Counted]] = []
        self._waiting: list[Sequence[str]] = []
        self._bytes = self._steps = 0

    def add(self, texts: Sequence[Segments]) -> None:
        """Takes in the texts of the next documents."""
        if self._rewritten is not None:
            texts = list(self._rewritten(texts))
        # Terms never reach across segments, nor across lines.
        lines = ["\n".join(segments) for segments in texts]
        # Of the texts alone, so that a shard ends after the same document however fast threads are.
        self._bytes += _TEXT * sum(map(len, lines)) + _DOCUMENT * len(lines)
        # Few texts are not worth compiled loops, and the first of many are not known to be few.
        self._waiting.append(lines)
        self._steps += split_steps(lines)
        if would_load(self._steps):
            self._count()

    def _count(self) -> None:
        """Counts the terms of the texts that wait."""
        is_worth_loading(self._steps)
        for lines in self._waiting:
            self._ahead.append(self._counter.count(lines))
            if len(self._ahead) > self._threads:
                self._builder.add(self._ahead.pop(0).result())
        self._waiting.clear()
        self._steps = 0

    def is_full(self) -> bool:
        """Whether the shard takes as much memory as it may."""
        return self._bytes >= self._memory

    def end(self) -> None:
        """Writes the postings of the shard."""
        save_postings(self._folder, self.made())

    def made(self) -> PostingsArrays:
        """The postings of the shard."""
        self._count()
        for future in self._ahead:
            self._builder.add(future.result())
        self._ahead.clear()
        return self._builder.made(self._counter.terms.by_number())

    def close(self) -> None:
        """Ends the threads."""
        self._counter.close()


class PostingsBuilder:
    """Term counts of documents as they come, and the shard that they make."""

    def __init__(self) -> None:
        self._parts: list[Counted] = []
        self.postings = 0

    def add(self, counted: Counted) -> None:
        """Takes in the counts of the next documents."""
        self._parts.append(counted)
        self.postings += len(counted.terms)

    def made(self, terms: Sequence[str]) -> PostingsArrays:
        """The postings of all that was added; `terms` are the terms by number."""
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
        return Strings.of([terms[number] for number in present]), {
            "starts": starts,
            "documents": inverted[0],
            "classes": inverted[1],
            "lengths": lengths,
            "class-counts": classes.counts,
            "class-lengths": classes.lengths,
            "bounds": bounds,
        }

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

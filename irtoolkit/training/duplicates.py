"""Near duplicates of documents, and passages that share a sentence.

Two documents are near duplicates if the Jaccard similarity of their sets of words reaches a
threshold. They are found exactly, by prefix filtering (Bayardo et al. 2007, Wang et al. 2012).
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.spans import Span
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.ragged import Bools, Ragged, distinct, is_among

# Initial size of the arrays for pairs of near duplicates.
_PAIRS = 1 << 20
# Values that are processed at once, and size of the largest word set with signatures of word pairs.
_BLOCK, _PAIRED = 1 << 23, 80
# If the requested word sets are fewer than one in so many, only their signatures are kept.
_RARE = 4
_WORD = re.compile(r"\w+")
# Han, kana and hangul, which are written with few or no spaces.
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]")
# Tolerance for a product of a size and a similarity, which floating point may round up.
_SLACK = 1e-9
# A similarity that no two documents have.
_NONE_NEAR = 2.0


class DuplicateFinder:
    """An index that finds documents that are near duplicates of others or overlap them.

    Documents are added one by one; the words and the position in a book of each are stored.
    """

    def __init__(self, near: float | None) -> None:
        """Creates an empty finder.

        Args:
            near: the least Jaccard similarity of near duplicates; above 1 there are none. With None
                there are no overlapping passages either.

        Raises:
            InputError: `near` is not above 0, and all documents would be near duplicates.
        """
        self._overlaps = near is not None
        near = _NONE_NEAR if near is None else near
        if not near > 0:
            raise InputError(
                f"near={near} makes any two documents near duplicates",
                remedy="0.8 is usual; near=none bars no near duplicate",
            )
        self._near = near
        # A new word gets the next number.
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__
        self._words, self._ends = array("i"), array("q", [0])
        self._books: dict[str, int] = {}
        self._spans = array("q")

    def add(self, doc_id: str, text: str) -> None:
        """Adds the next document."""
        if self._near <= 1:
            self._words.extend(map(self._vocabulary.__getitem__, words_of(text)))
        self._ends.append(len(self._words))
        span = _span(doc_id)
        if span is None:
            self._spans.extend((-1, 0, 0))
        else:
            book = self._books.setdefault(span.book, len(self._books))
            self._spans.extend((book, span.start, span.stop))

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._ends) - 1

    def exclusions(self, queries: Ints, golds: Ints, count: int) -> Exclusions:
        """Returns the documents that each query excludes.

        They are its relevant documents, and unless `near` is None their near duplicates and the
        passages that share a sentence with one of them.

        Args:
            queries, golds: (n,) queries and documents relevant to them.
            count: number of queries.
        """
        word_sets, words = self._word_sets()
        total = int(word_sets.max(initial=-1)) + 1
        duplicates = self._duplicates(words, np.unique(word_sets[golds]), total)
        owners, others = duplicates.take(word_sets[golds])
        distinct_golds, gold_of = np.unique(golds, return_inverse=True)
        sharing = shared = np.empty(0, np.int64)
        if self._overlaps:
            sharing, shared = self._overlapping(distinct_golds).take(gold_of)
        return Exclusions(
            word_sets,
            total,
            Ragged.grouped(
                np.concatenate([queries, queries[owners], queries[sharing]]),
                np.concatenate([word_sets[golds], others, total + shared]),
                count,
            ),
        )

    def _word_sets(self) -> tuple[Ints, Ragged]:
        """Returns each document's word set number, and the words of each set, rarest first."""
        ends = np.frombuffer(self._ends, np.int64)
        if self._near > 1:
            return np.arange(len(self)), Ragged(np.zeros(len(self) + 1, np.int64), ends[:0])
        words, filled = np.array(self._words, np.int32), ends[:-1] < ends[1:]
        # Sets are compared by two sums of random numbers; different sets have the same sums with a
        # probability of 2^-128.
        marks = np.random.default_rng(0).integers(
            0, 1 << 64, (2, len(self._vocabulary)), np.uint64, endpoint=False
        )
        sums = np.zeros((2, len(self)), np.uint64)
        for mark, total in zip(marks, sums, strict=True):
            if len(words):
                total[filled] = np.add.reduceat(mark[words], ends[:-1][filled])
        order = np.lexsort(sums)
        new = np.ones(len(self), bool)
        new[1:] = (sums[:, order[1:]] != sums[:, order[:-1]]).any(0)
        # Word sets are numbered by first occurrence, which depends neither on the random numbers
        # nor on the order of words in a Python set, which differs between processes.
        first_met = np.argsort(order[new])
        number = np.empty(len(first_met), np.int64)
        number[first_met] = np.arange(len(first_met))
        word_sets = np.empty(len(self), np.int64)
        word_sets[order] = number[np.cumsum(new) - 1]
        return word_sets, _rarest_first(Ragged(ends, words), order[new][first_met])

    def _duplicates(self, sets: Ragged, requested: Ints, count: int) -> Ragged:
        """Returns for each of `count` word sets the near duplicates of those that are requested."""
        if self._near > 1:
            return Ragged.of([()] * count)
        from irtoolkit.training._compiled import near_duplicates

        selected = np.zeros(count, bool)
        selected[requested] = True
        signatures, members = _signatures(sets, self._near, selected)
        order = np.argsort(signatures, kind="stable")
        signatures, members = signatures[order], members[order]
        starts = np.flatnonzero(np.concatenate([[True], signatures[1:] != signatures[:-1], [True]]))
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        room, begin = _PAIRS, 0
        while len(signatures) and begin < len(starts) - 1:
            lefts, right = np.empty(room, np.int64), np.empty(room, np.int64)
            stopped_at, many = near_duplicates(
                (starts, members),
                (sets.offsets, sets.values),
                selected,
                self._near,
                begin,
                (lefts, right),
            )
            room *= 2 if stopped_at == begin else 1
            begin = stopped_at
            pairs.append((lefts[:many], right[:many]))
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return Ragged.grouped(first, second, count)

    def _overlapping(self, docs: Ints) -> Ragged:
        """Returns the other documents that share a sentence with each of some documents."""
        books, starts, stops = np.frombuffer(self._spans, np.int64).reshape(-1, 3).T
        order = np.lexsort((starts, books))
        far = int(stops.max(initial=0)) + 1
        codes = books[order] * far + starts[order]
        longest = int((stops - starts).max(initial=0))
        # A passage that begins more than the longest passage's length before cannot overlap.
        low = np.searchsorted(codes, books[docs] * far + np.maximum(starts[docs] - longest, 0))
        high = np.searchsorted(codes, books[docs] * far + stops[docs])
        high = np.where(books[docs] < 0, low, high)
        owners, places = Ragged(low, order).stretch(low, high)
        overlap = (stops[places] > starts[docs][owners]) & (places != docs[owners])
        return Ragged.grouped(owners[overlap], places[overlap], len(docs))


def _rarest_first(sets: Ragged, chosen: Ints) -> Ragged:
    """Returns some word sets with their words numbered by ascending frequency."""
    sizes = sets.sizes[chosen]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    frequencies = np.bincount(sets.values)
    rank = np.empty(len(frequencies), np.int64)
    rank[np.argsort(frequencies, kind="stable")] = np.arange(len(frequencies))
    # int32 halves the memory; only one block at a time is held as int64.
    ranked = np.empty(ends[-1], np.int32)
    for begin, end in _blocks(ends):
        owners, words = sets.take(chosen[begin:end])
        ranked[ends[begin] : ends[end]] = np.sort(owners << 32 | rank[words]) & 0xFFFFFFFF
    return Ragged(ends, ranked)


def _blocks(ends: Ints) -> Iterator[tuple[int, int]]:
    """Yields ranges of rows with about _BLOCK values each, from the offsets of the rows."""
    begin = 0
    while begin < len(ends) - 1:
        end = int(np.searchsorted(ends, ends[begin] + _BLOCK, "right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def _signatures(sets: Ragged, near: float, selected: Bools) -> tuple[Ints, Ints]:
    """Returns signatures of word sets: two near duplicates have at least one in common.

    Near duplicates differ in few words. So among the first few words of each, the rarest, there is
    one that the other has too; with one more word there are two, and a pair of rare words is far
    rarer than a word. Large sets would have too many pairs, and their rarest words are rare enough.

    Args:
        sets: the words of each set, rarest first.
        near: least Jaccard similarity of near duplicates.
        selected: (n,) the sets whose near duplicates are needed.

    Returns:
        The signatures, and the number of the set of each; two parallel arrays.
    """
    maker = _SignatureMaker.of(sets, near)
    none = np.empty(0, np.int64)
    previous = none
    # If few sets are requested, only their signatures matter.
    rare = selected.sum() * _RARE < len(sets)
    if rare:
        single_signatures = (
            maker.make(number, number + 1)[0] for number in np.flatnonzero(selected).tolist()
        )
        previous = distinct(np.concatenate([none, *single_signatures]))
    parts = [(none, none)]
    for begin, end in _blocks(maker.ends):
        signatures, owners = maker.make(begin, end)
        mask = is_among(signatures, previous) if rare else slice(None)
        parts.append((signatures[mask], owners[mask]))
    all_signatures, all_owners = (np.concatenate(side) for side in zip(*parts, strict=True))
    return all_signatures, all_owners


@dataclass(frozen=True, eq=False)
class _SignatureMaker:
    """A maker of signatures of word sets: single words, and pairs of words.

    Attributes:
        sets: the words of each set, rarest first.
        single: (n,) number of first words of each set that are signatures.
        few: (n,) number of first words of each set whose pairs are signatures.
        pairs: (n,) number of pairs of each set.
    """

    sets: Ragged
    single: Ints
    few: Ints
    pairs: Ints

    @classmethod
    def of(cls, sets: Ragged, near: float) -> _SignatureMaker:
        sizes = sets.sizes
        shared = np.ceil(near * sizes - _SLACK).astype(np.int64)
        first = np.where(sizes > 0, np.minimum(sizes - shared + 1, sizes), 0)
        # For tiny sets one common word may be enough.
        single = np.where((sizes > near * _PAIRED) | (shared <= 1), first, 0)
        few = np.minimum(first + 1, sizes)
        return cls(sets, single, few, np.where(sizes <= _PAIRED, few * (few - 1) // 2, 0))

    @property
    def ends(self) -> Ints:
        """(n+1,) offsets of the signatures of each set."""
        return np.concatenate([[0], np.cumsum(self.single + self.pairs)])

    def make(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """Returns the signatures of sets `begin` to `end`, and the number of the set of each."""
        from irtoolkit.training._compiled import ALONE, pairs_of

        window = slice(begin, end)
        starts, counts = self.sets.offsets[window], self.pairs[window]
        owners, words = self.sets.stretch(starts, starts + self.single[window])
        values = np.empty(int(counts.sum()), np.int64)
        pairs_of(starts, self.sets.values, self.few[window], counts, values)
        signatures = np.concatenate([words.astype(np.int64) << 31 | ALONE, values])
        of_pairs = np.repeat(np.arange(begin, end), counts)
        return signatures, np.concatenate([owners + begin, of_pairs])


def words_of(text: str) -> set[str]:
    """Returns the words that documents are compared by.

    In Chinese and Japanese, pairs of characters.
    """
    words = set(_WORD.findall(text.lower()))
    if not text.isascii():
        for word in [word for word in words if len(word) > 2 and _EAST.search(word)]:
            words.remove(word)
            words.update(word[i : i + 2] for i in range(len(word) - 1))
    return words


def _span(doc_id: str) -> Span | None:
    """Returns the span that a document id names, if it names one."""
    if ":" in doc_id and "+" in doc_id:
        with suppress(InputError):
            return Span.parse(doc_id)
    return None

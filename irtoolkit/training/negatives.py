"""Negatives: documents that are not relevant to a query, and what must not be taken for one.

Never a negative is a query's gold, a near duplicate of it in words, or a passage of the same book
that shares a sentence with it.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.base.spans import Span

if TYPE_CHECKING:
    from irtoolkit.training.sets import TrainingSet

Bools = NDArray[np.bool_]
# Room for pairs that are found at once.
_PAIRS = 1 << 20
# Values that are handled at once, and the size of the largest set that is told by pairs of words.
_BLOCK, _PAIRED = 1 << 23, 80
# Sets for each one that is asked for, from which on it is worth while to look at few of the others.
_RARE = 4
_WORD = re.compile(r"\w+")
# Han, kana and hangul, which are written without spaces, or nearly so.
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]")
# A share of a size in floating point may come out a little too high.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of whole numbers, of any lengths, end to end.

    Attributes:
        offsets: (n+1,) where each row begins.
        values: all rows.
    """

    offsets: Ints
    values: NDArray[Any]

    @classmethod
    def of(cls, rows: Sequence[Iterable[int]]) -> Ragged:
        """Rows as they are listed."""
        listed = [np.fromiter(row, np.int64) for row in rows]
        ends = np.cumsum([0, *map(len, listed)])
        return cls(ends, np.concatenate([np.empty(0, np.int64), *listed]))

    @classmethod
    def grouped(cls, owners: Ints, values: Ints, count: int) -> Ragged:
        """The values of each of `count` owners, ascending and each once."""
        width = int(values.max(initial=0)) + 1
        pairs = _distinct(owners * width + values)
        return cls(offsets_of(pairs // width, count), pairs % width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ints:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def sizes(self) -> Ints:
        """(n,) length of each row."""
        return np.diff(self.offsets)

    def take(self, rows: Ints) -> tuple[Ints, Ints]:
        """The values of some rows, and before them which of these rows each belongs to."""
        return self.stretch(self.offsets[rows], self.offsets[rows + 1])

    def stretch(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """The values from each of some places up to another, and before them which each is of."""
        sizes = ends - begins
        owners = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return owners, self.values[begins[owners] + within]


@dataclass(frozen=True, eq=False)
class Bars:
    """Which documents may not be negatives of which queries.

    A document has two keys: its kind, and the number of kinds plus its own number. A query bars
    keys, so that it bars thousands of documents with the same words at once.

    Attributes:
        kinds: (m,) kind of each document; those of one kind have the same words.
        count: of kinds.
        keys: of each query, ascending.
    """

    kinds: Ints
    count: int
    keys: Ragged

    @classmethod
    def of(cls, docs: Sequence[Iterable[int]], total: int) -> Bars:
        """Bars that name single documents: for each query which of `total` documents."""
        return cls(np.arange(total), total, Ragged.of([sorted({*row}) for row in docs]))

    def docs(self, query: int) -> Ints:
        """The documents that a query bars, ascending."""
        keys = self.keys[query]
        cut = int(np.searchsorted(keys, self.count))
        alike = [self.members[kind] for kind in keys[:cut].tolist()]
        return np.unique(np.concatenate([*alike, keys[cut:] - self.count]))

    def hold(self, queries: Ints, docs: Ints) -> Bools:
        """Whether each query bars the document beside it."""
        width = self.count + len(self.kinds)
        codes = np.repeat(np.arange(len(self.keys)), self.keys.sizes) * width + self.keys.values
        asked = queries * width
        return _among(asked + self.kinds[docs], codes) | _among(asked + self.count + docs, codes)

    def among(self, places: Ints) -> Bars:
        """The same for some of the documents, ascending, which are numbered anew."""
        number = np.full(len(self.kinds), -1)
        number[places] = np.arange(len(places))
        values = self.keys.values.copy()
        single = values >= self.count
        values[single] = number[values[single] - self.count]
        kept = values >= 0
        values[single] += self.count
        owners = np.repeat(np.arange(len(self.keys)), self.keys.sizes)[kept]
        return Bars(
            self.kinds[places], self.count, Ragged(offsets_of(owners, len(self.keys)), values[kept])
        )

    @cached_property
    def members(self) -> Ragged:
        """The documents of each kind."""
        order = np.argsort(self.kinds, kind="stable")
        return Ragged(offsets_of(self.kinds[order], self.count), order)


def _among(values: Ints, ordered: Ints) -> Bools:
    """Which values are among others, which ascend."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: Bools = ordered[places] == values
    return found


class Documents:
    """What is known of documents as they go by: the words of each, and its place in a book."""

    def __init__(self, near: float) -> None:
        """`near` is the least Jaccard similarity of near duplicates; above 1 there are none.

        Raises:
            InputError: it is not above 0, where everything would be alike.
        """
        if not near > 0:
            raise InputError(
                f"near={near} takes any two documents for the same",
                remedy="0.8 is usual, and above 1 nothing is a near duplicate",
            )
        self._near = near
        # A word that is met for the first time gets the next number.
        self._vocabulary: defaultdict[str, int] = defaultdict()
        self._vocabulary.default_factory = self._vocabulary.__len__
        self._words, self._ends = array("i"), array("q", [0])
        self._books: dict[str, int] = {}
        self._spans = array("q")

    def add(self, doc_id: str, text: str) -> None:
        """Takes in the next document."""
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
        return len(self._ends) - 1

    def bars(self, queries: Ints, golds: Ints, count: int) -> Bars:
        """What each of `count` queries bars.

        Args:
            queries, golds: (n,) a query and a document relevant to it.
            count: of queries.
        """
        kinds, sets = self._kinds()
        total = int(kinds.max(initial=-1)) + 1
        alike = self._alike(sets, np.unique(kinds[golds]), total)
        owners, others = alike.take(kinds[golds])
        asked, docs = np.unique(golds, return_inverse=True)
        sharing, shared = self._overlapping(asked).take(docs)
        return Bars(
            kinds,
            total,
            Ragged.grouped(
                np.concatenate([queries, queries[owners], queries[sharing]]),
                np.concatenate([kinds[golds], others, total + shared]),
                count,
            ),
        )

    def _kinds(self) -> tuple[Ints, Ragged]:
        """Kind of each document, and the words of each kind; the rarest have the lowest numbers."""
        ends = np.frombuffer(self._ends, np.int64)
        if self._near > 1:
            return np.arange(len(self)), Ragged(np.zeros(len(self) + 1, np.int64), ends[:0])
        words, filled = np.array(self._words, np.int32), ends[:-1] < ends[1:]
        # A set is told by two sums of random numbers: that others have the same has a chance of
        # 2^-128.
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
        # Kinds are numbered as they are first met, whatever the random numbers and the order of
        # words in a set, which is another in each process.
        first_met = np.argsort(order[new])
        number = np.empty(len(first_met), np.int64)
        number[first_met] = np.arange(len(first_met))
        kinds = np.empty(len(self), np.int64)
        kinds[order] = number[np.cumsum(new) - 1]
        return kinds, _rarest_first(Ragged(ends, words), order[new][first_met])

    def _alike(self, sets: Ragged, asked: Ints, count: int) -> Ragged:
        """The other kinds that are near duplicates of the kinds asked for."""
        if self._near > 1:
            return Ragged.of([()] * count)
        from irtoolkit.training._compiled import alike

        wanted = np.zeros(count, bool)
        wanted[asked] = True
        signs, members = _signs(sets, self._near, wanted)
        order = np.argsort(signs, kind="stable")
        signs, members = signs[order], members[order]
        runs = np.flatnonzero(np.concatenate([[True], signs[1:] != signs[:-1], [True]]))
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        room, begin = _PAIRS, 0
        while len(signs) and begin < len(runs) - 1:
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            done, many = alike(
                runs, members, wanted, sets.offsets, sets.values, self._near, begin, left, right
            )
            room *= 2 if done == begin else 1
            begin = done
            found.append((left[:many], right[:many]))
        first, second = (np.concatenate(side) for side in zip(*found, strict=True))
        return Ragged.grouped(first, second, count)

    def _overlapping(self, asked: Ints) -> Ragged:
        """The other documents that share a sentence with those asked for."""
        books, starts, stops = np.frombuffer(self._spans, np.int64).reshape(-1, 3).T
        order = np.lexsort((starts, books))
        far = int(stops.max(initial=0)) + 1
        codes = books[order] * far + starts[order]
        longest = int((stops - starts).max(initial=0))
        # A passage that begins more than the longest one's length before cannot reach.
        low = np.searchsorted(codes, books[asked] * far + np.maximum(starts[asked] - longest, 0))
        high = np.searchsorted(codes, books[asked] * far + stops[asked])
        high = np.where(books[asked] < 0, low, high)
        owners, places = Ragged(low, order).stretch(low, high)
        meet = (stops[places] > starts[asked][owners]) & (places != asked[owners])
        return Ragged.grouped(owners[meet], places[meet], len(asked))


def _rarest_first(sets: Ragged, chosen: Ints) -> Ragged:
    """Some sets of words, which are numbered anew: the rarest has the lowest number."""
    sizes = sets.sizes[chosen]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    often = np.bincount(sets.values)
    rank = np.empty(len(often), np.int64)
    rank[np.argsort(often, kind="stable")] = np.arange(len(often))
    # Word numbers are held in half the space, and few of them twice.
    ranked = np.empty(ends[-1], np.int32)
    for begin, end in _blocks(ends):
        owners, words = sets.take(chosen[begin:end])
        ranked[ends[begin] : ends[end]] = np.sort(owners << 32 | rank[words]) & 0xFFFFFFFF
    return Ragged(ends, ranked)


def _blocks(ends: Ints) -> Iterator[tuple[int, int]]:
    """Rows in blocks of so many values, by where the rows end."""
    begin = 0
    while begin < len(ends) - 1:
        end = int(np.searchsorted(ends, ends[begin] + _BLOCK, "right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def _signs(sets: Ragged, near: float, wanted: Bools) -> tuple[Ints, Ints]:
    """Signs of sets of words, and whose each is: two sets that are alike have one in common.

    Sets that have a share in common differ in few words, so that among the first few of each, the
    rarest, there is one of the other's; among one more there are two, and a pair of rare words is
    far rarer than a word (prefix filtering: Bayardo et al. 2007, Wang et al. 2012). Large sets
    would have too many pairs, and their rarest words are rare enough.
    """
    from irtoolkit.training._compiled import ALONE, pairs_of

    sizes = sets.sizes
    shared = np.ceil(near * sizes - _SLACK).astype(np.int64)
    first = np.where(sizes > 0, np.minimum(sizes - shared + 1, sizes), 0)
    # One word in common may be enough where the sets are tiny.
    single = np.where((sizes > near * _PAIRED) | (shared <= 1), first, 0)
    few = np.minimum(first + 1, sizes)
    pairs = np.where(sizes <= _PAIRED, few * (few - 1) // 2, 0)
    ends = np.concatenate([[0], np.cumsum(single + pairs)])

    def block(begin: int, end: int) -> tuple[Ints, Ints]:
        """The signs of some sets that follow one another."""
        here = slice(begin, end)
        owners, words = sets.stretch(sets.offsets[here], sets.offsets[here] + single[here])
        made = np.empty(int(pairs[here].sum()), np.int64)
        pairs_of(sets.offsets[here], sets.values, few[here], pairs[here], made)
        signs = np.concatenate([words.astype(np.int64) << 31 | ALONE, made])
        of_pairs = np.repeat(np.arange(begin, end), pairs[here])
        return signs, np.concatenate([owners + begin, of_pairs])

    none = np.empty(0, np.int64)
    known = none
    # Where few sets are asked for, only their signs matter.
    rare = wanted.sum() * _RARE < len(sets)
    if rare:
        asked = (block(number, number + 1)[0] for number in np.flatnonzero(wanted).tolist())
        known = _distinct(np.concatenate([none, *asked]))
    made = [(none, none)]
    for begin, end in _blocks(ends):
        signs, owners = block(begin, end)
        kept = _among(signs, known) if rare else slice(None)
        made.append((signs[kept], owners[kept]))
    all_signs, all_owners = (np.concatenate(side) for side in zip(*made, strict=True))
    return all_signs, all_owners


def _distinct(values: Ints) -> Ints:
    """Each value once, ascending; np.unique takes several times as long."""
    ordered = np.sort(values)
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    distinct: Ints = ordered[new]
    return distinct


def words_of(text: str) -> set[str]:
    """The words by which documents are compared; of Chinese and Japanese, pairs of characters."""
    found = set(_WORD.findall(text.lower()))
    if not text.isascii():
        for word in [word for word in found if len(word) > 2 and _EAST.search(word)]:
            found.remove(word)
            found.update(word[i : i + 2] for i in range(len(word) - 1))
    return found


def _span(doc_id: str) -> Span | None:
    if ":" in doc_id and "+" in doc_id:
        with suppress(InputError):
            return Span.parse(doc_id)
    return None


def mine(ranked: Ragged, bars: Bars, count: int) -> Ints:
    """The first documents in the rankings of queries that may be their negatives.

    Args:
        ranked: the documents of each query, best first.
        bars: of these queries.
        count: of negatives.

    Returns:
        (q, count) documents; -1 follows where there are fewer.
    """
    queries = np.repeat(np.arange(len(ranked)), ranked.sizes)
    kept = ~bars.hold(queries, ranked.values)
    queries, docs = queries[kept], ranked.values[kept]
    place = np.arange(len(docs)) - offsets_of(queries, len(ranked))[queries]
    found = np.full((len(ranked), count), -1)
    early = place < count
    found[queries[early], place[early]] = docs[early]
    return found


def draw(rows: TrainingSet, row: int, count: int, seed: int, epoch: int) -> Ints:
    """Negatives of a row, drawn at random from its pool; the same for the same arguments.

    Returns:
        (count,) distinct documents, none of them barred.

    Raises:
        InputError: there are not so many.
    """
    pool, barred = rows.pool(row), rows.barred(row)
    random = generator(seed, epoch, row)
    if len(pool) < 2 * (count + len(barred)):
        allowed = np.setdiff1d(pool, barred, assume_unique=True)
        if len(allowed) < count:
            raise too_few(rows.name(row), rows.what, len(allowed), count)
        return random.choice(allowed, count, replace=False)
    # At least half of the pool may be drawn: few draws are in vain, however large it is.
    found: dict[int, None] = {}
    while len(found) < count:
        drawn = pool[random.integers(len(pool), size=2 * count)]
        found.update(dict.fromkeys(drawn[~_among(drawn, barred)].tolist()))
    return np.fromiter(found, np.int64, count)


def generator(*numbers: int) -> np.random.Generator:
    """Random numbers that some whole numbers decide."""
    return np.random.default_rng([number % (1 << 64) for number in numbers])


def too_few(name: str, what: str, found: int, count: int) -> InputError:
    """The error for a row with too few candidates that are no gold of its query."""
    return InputError(
        f"{name} of {what} has {found} candidates that may be negatives, and {count} are asked for",
        remedy="lower count",
    )

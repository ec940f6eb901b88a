"""Texts to counted terms, in compiled code on all cores."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.analysis import Analyzer, Tokenizer
from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Ints
from irtoolkit.base.threads import pool
from irtoolkit.indexes.strings import Strings, encoded

# Texts that a core handles at once.
BLOCK = 1 << 13
# A table of tokens begins with so many slots, and bytes for each; it doubles when it is full.
_SLOTS, _TOKEN_BYTES = 1 << 18, 12
# Steps that it takes Python to split a character of a text.
_SPLIT = 6


class Counted(NamedTuple):
    """Term counts of some texts.

    Attributes:
        terms: (p,) numbers of the distinct terms of all texts, end to end.
        counts: (p,) how often each occurs in its text.
        ends: (n,) where the terms of each text end.
        lengths: (n,) terms of each text, with repetitions.
    """

    terms: NDArray[np.int32]
    counts: NDArray[np.int32]
    ends: Ints
    lengths: NDArray[np.int32]


class Terms:
    """Terms by number, in order of appearance, for all threads."""

    def __init__(self, analyze: Analyzer) -> None:
        self._analyze, self._lock = analyze, Lock()
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def by_number(self) -> list[str]:
        """The terms, in the order of their numbers."""
        return list(self._numbers)

    def since(self, count: int) -> list[str]:
        """Returns the terms from a number on, in the order of their numbers."""
        return list(islice(reversed(self._numbers), len(self._numbers) - count))[::-1]

    def numbers(self, tokens: Iterable[str]) -> list[int]:
        """The term of each token; -1 for one that is stopped."""
        return self.numbers_of([self._analyze.term(token) for token in tokens])

    def numbers_of(self, terms: Iterable[str | None]) -> list[int]:
        """The number of each term; -1 for None."""
        with self._lock:
            return [
                -1 if term is None else self._numbers.setdefault(term, len(self._numbers))
                for term in terms
            ]


def split_steps(texts: Iterable[str]) -> int:
    """Returns the steps that it takes Python to count the terms of some texts; see `is_worth_loading`."""
    return _SPLIT * sum(map(len, texts))


def counted_by_python(texts: Sequence[str], analyze: Analyzer, terms: Terms) -> Counted:
    """Returns the term counts of some texts, which are split by Python."""
    numbers: dict[str, int] = {}
    counts: list[collections.Counter[int]] = []
    for text in texts:
        tokens = analyze.split(analyze.lower(text))
        fresh = [token for token in dict.fromkeys(tokens) if token not in numbers]
        numbers.update(zip(fresh, terms.numbers(fresh), strict=True))
        text_counts = collections.Counter(map(numbers.__getitem__, tokens))
        text_counts.pop(-1, None)  # stopped
        counts.append(text_counts)
    size = sum(map(len, counts))
    return Counted(
        np.fromiter((term for text_counts in counts for term in text_counts), np.int32, size),
        np.fromiter(
            (count for text_counts in counts for count in text_counts.values()), np.int32, size
        ),
        np.cumsum([len(text_counts) for text_counts in counts], dtype=np.int64),
        np.array([text_counts.total() for text_counts in counts], np.int32),
    )


class _Table:
    """The tokens that one thread knows, and their terms."""

    def __init__(self, mode: int | None, analyze: Analyzer, terms: Terms, slots: int) -> None:
        """`mode` is how compiled code splits ASCII; None leaves every text to Python."""
        self._mode, self._analyze, self._terms = mode, analyze, terms
        self._slots = np.full(slots, -1, np.int32)
        self._hashes = np.empty(slots // 2 + 2, np.uint64)
        self._starts = np.zeros(slots // 2 + 2, np.int64)
        self._arena = np.empty(slots * _TOKEN_BYTES, np.uint8)
        self._used = np.zeros(1, np.int64)
        self._of = np.empty(0, np.int32)

    def count(self, texts: Sequence[str]) -> Counted:
        """The term counts of some texts."""
        from irtoolkit.indexes._compiled_tokens import HARD, SPLIT

        if self._mode is None:
            tokens = np.empty(0, np.int32)
            begins, ends = np.zeros(len(texts), np.int64), np.full(len(texts), HARD, np.int64)
        else:
            tokens, begins, ends = self._tokens(Strings.of(texts), self._mode)
        hard = np.flatnonzero(ends == HARD)
        if len(hard):
            # What is beyond ASCII is split by Python, and only numbered here.
            split, lower = self._analyze.split, self._analyze.lower
            apart = [b"\xff".join(map(encoded, split(lower(texts[i])))) for i in hard.tolist()]
            starts = np.cumsum([0, *map(len, apart)])
            rest = Strings(np.frombuffer(b"".join(apart), np.uint8), starts)
            more, first, last = self._tokens(rest, SPLIT)
            begins[hard], ends[hard] = first + len(tokens), last + len(tokens)
            tokens = np.concatenate([tokens, more])
        return self._counted(tokens, begins, ends)

    def _tokens(self, texts: Strings, mode: int) -> tuple[Any, Ints, Ints]:
        from irtoolkit.indexes._compiled_tokens import tokenize

        tokens = np.empty(len(texts.data) + 1, np.int32)
        out = tokens, np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        done = 0
        while done < len(texts):
            table = self._slots, self._hashes, self._starts, self._arena
            done = tokenize(texts.data, texts.starts, done, mode, table, self._used, out)
            if done < len(texts):
                longest = int(texts.starts[done + 1] - texts.starts[done])
                self._grow(longest)
        written = int(max(out[2].max(initial=0), out[1].max(initial=0)))
        return tokens[:written], out[1], out[2]

    def _grow(self, bytes_more: int) -> None:
        """Makes room for twice as many tokens."""
        used = int(self._used[0])
        size = 2 * len(self._slots)
        slots = np.full(size, -1, np.int32)
        # The same places as the compiled loop would choose.
        for number, slot in enumerate((self._hashes[:used] & np.uint64(size - 1)).tolist()):
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = number
        self._slots = slots
        self._hashes = np.resize(self._hashes, size // 2 + 2)
        self._starts = np.concatenate(
            [self._starts[: used + 1], np.zeros(size // 2 + 1 - used, np.int64)]
        )
        arena = np.empty(2 * len(self._arena) + bytes_more, np.uint8)
        arena[: self._starts[used]] = self._arena[: self._starts[used]]
        self._arena = arena

    def _counted(self, tokens: Any, begins: Ints, ends: Ints) -> Counted:
        from irtoolkit.indexes._compiled_tokens import count

        used = int(self._used[0])
        token_strings = Strings(self._arena, self._starts[: used + 1])
        if used > len(self._of):
            fresh = self._terms.numbers(token_strings.chosen(np.arange(len(self._of), used)))
            self._of = np.concatenate([self._of, np.array(fresh, np.int32)])
        most = len(self._terms)
        room = np.full(most, -1, np.int64), np.empty(most, np.int64)
        out = Counted(
            np.empty(len(tokens), np.int32),
            np.empty(len(tokens), np.int32),
            np.empty(len(begins), np.int64),
            np.empty(len(begins), np.int32),
        )
        written = count(tokens, begins, ends, self._of, room, tuple(out))
        return out._replace(terms=out.terms[:written].copy(), counts=out.counts[:written].copy())


def table_of(tokenizer: Tokenizer, analyze: Analyzer, terms: Terms, slots: int = 1 << 12) -> _Table:
    """A table for the tokens of one thread, which grows from `slots` on."""
    from irtoolkit.indexes import _compiled_tokens as compiled

    modes = {
        "word": compiled.WORD,
        "standard": compiled.STANDARD,
        "whitespace": compiled.WHITESPACE,
    }
    return _Table(modes.get(tokenizer), analyze, terms, slots)


class Counter:
    """Counts the terms of texts on all cores; what comes out is in the order of what went in."""

    def __init__(self, tokenizer: Tokenizer, analyze: Analyzer, threads: int | None = None) -> None:
        self.terms = Terms(analyze)
        self._threads = threads or cores()
        self._tokenizer, self._analyze = tokenizer, analyze
        self._tables: SimpleQueue[_Table] = SimpleQueue()
        self._pool = pool(self._threads)

    def count(self, texts: Sequence[str]) -> Future[Counted]:
        """The term counts of some texts, as soon as a core has made them.

        They are counted by compiled loops if this process uses these; see `is_worth_loading`.
        """
        return self._pool.submit(self._count, texts)

    def _count(self, texts: Sequence[str]) -> Counted:
        if not is_worth_loading(0):
            return counted_by_python(texts, self._analyze, self.terms)
        try:
            table = self._tables.get_nowait()
        except Empty:
            table = table_of(self._tokenizer, self._analyze, self.terms, _SLOTS)
        try:
            return table.count(texts)
        finally:
            self._tables.put(table)

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

    def each(self, blocks: Iterable[Sequence[str]]) -> Iterator[Counted]:
        """The counts of blocks of texts, some of which are counted ahead."""
        ahead: list[Future[Counted]] = []
        for block in blocks:
            ahead.append(self.count(block))
            if len(ahead) > self._threads:
                yield ahead.pop(0).result()
        for future in ahead:
            yield future.result()

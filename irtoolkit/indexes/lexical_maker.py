"""Shards of postings, made of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path

from irtoolkit.base.analysis import Stemmer, StopWords, Tokenizer, analyzer
from irtoolkit.base.compiled import is_worth_loading, would_load
from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Segments
from irtoolkit.indexes.postings import PostingsBuilder, PostingsShard
from irtoolkit.indexes.tokens import Counted, Counter, split_steps
from irtoolkit.indexes.writer import MEMORY

# Bytes that a byte of text and a document take while their shard is made.
_TEXT, _DOCUMENT = 4, 128
# Terms after which a vocabulary begins anew with the next shard.
_TERMS = 1 << 21

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
        self.made().save(self._folder)

    def made(self) -> PostingsShard:
        """The postings of the shard."""
        self._count()
        for future in self._ahead:
            self._builder.add(future.result())
        self._ahead.clear()
        return self._builder.made(self._counter.terms.by_number())

    def close(self) -> None:
        """Ends the threads."""
        self._counter.close()

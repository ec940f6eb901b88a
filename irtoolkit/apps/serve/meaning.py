"""Comparing texts by meaning: a vector of every sentence, and the mean over a passage.

Passages are compared by the cosines of their sentences. So a book is encoded once, whatever the length
of passages, and each sentence shows what it adds to the score.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.apps.serve.turns import Turns
from irtoolkit.base.errors import InputError

if TYPE_CHECKING:
    from irtoolkit.models.encoder import Encoder
    from irtoolkit.models.presets import Side
    from irtoolkit.retrievers.dense import Dense

Vectors = NDArray[np.float32]
# Sentences that are encoded between reports of progress.
_CHUNK = 512
_USES: tuple[Literal["query", "document", "kept"], ...] = ("query", "document", "kept")
# Books and words whose vectors are held in memory.
_BOOKS, _WORDS = 8, 50_000


class StoppedError(Exception):
    """The server ends; what was prepared so far is kept."""


class Meaning:
    """A model that makes vectors of sentences.

    Args:
        model: a preset, folder or hub id.

    Attributes:
        model: see above.
        why_not: why it cannot be used here; None if it can.
        turns: searches, which go before books.
        loading: whether the model is being loaded.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.turns = Turns()
        self.loading = False
        self._books: OrderedDict[str, Vectors] = OrderedDict()
        # The vectors so far of the book that is being prepared.
        self._begun: dict[str, Vectors] = {}
        self._words: OrderedDict[str, Vectors] = OrderedDict()
        self._encoders: dict[str, Encoder] = {}
        self._opening, self._preparing = threading.Lock(), threading.Lock()
        # A store of vectors is of one thread at a time.
        self._reading, self._table = threading.Lock(), threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether the model is loaded."""
        return len(self._encoders) == len(_USES)

    @cached_property
    def why_not(self) -> str | None:
        from irtoolkit.models.downloads import only_here
        from irtoolkit.ranking.systems import find_system

        try:
            with only_here():
                return find_system(self.model, {}).missing()
        except InputError as error:
            return str(error)

    @cached_property
    def _retriever(self) -> Dense:
        from irtoolkit.ranking.systems import find_system
        from irtoolkit.retrievers.dense import Dense

        retriever = find_system(self.model, {}).retriever
        if not isinstance(retriever, Dense):
            raise InputError(
                f"the model {self.model} makes no vector of a text",
                remedy="name a bi-encoder, such as all-MiniLM-L6-v2",
            )
        return retriever

    def _encoder(self, use: Literal["query", "document", "kept"]) -> Encoder:
        """Returns the encoder of queries, of books, or one that reads the cached vectors of books."""
        with self._opening:
            if use not in self._encoders:
                self.loading = True
                try:
                    side: Side = "query" if use == "query" else "document"
                    self._encoders[use] = self._retriever.encoder(side)
                finally:
                    self.loading = False
            return self._encoders[use]

    def load(self) -> None:
        """Loads the model, which takes some seconds the first time."""
        for use in _USES:
            self._encoder(use)

    def prepare(
        self,
        key: str,
        sentences: Sequence[str],
        tell: Callable[[int, int], object] = lambda done, total: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Makes the vectors of a book, and keeps them in irtoolkit's cache.

        Args:
            key: tells the book from others.
            sentences: the book.
            tell: called with how many are done, and how many there are.
            stop: whether to stop.

        Raises:
            StoppedError: it was asked to stop; the next call continues.
            InputError: the model cannot be used here.
        """
        encoder = self._encoder("document")

        def turn() -> None:
            self.turns.wait()
            if stop():
                raise StoppedError

        with self._preparing:
            encoder.before_each_batch(turn)
            vectors: Vectors | None = None
            try:
                for start in range(0, len(sentences), _CHUNK):
                    part = sentences[start : start + _CHUNK]
                    # One count hides the bar: progress is on the page.
                    part_vectors = _unit(encoder.encode(part, what="sentences", count=1).vectors())
                    if vectors is None:
                        vectors = np.full(
                            (len(sentences), part_vectors.shape[1]), np.nan, np.float32
                        )
                        self._begun[key] = vectors
                    vectors[start : start + len(part)] = part_vectors
                    tell(start + len(part), len(sentences))
                if vectors is not None:
                    self._hold(key, vectors)
            finally:
                self._begun.pop(key, None)

    def is_kept(self, sentences: Sequence[str]) -> bool:
        """Whether all vectors of a book are in irtoolkit's cache."""
        encoder = self._encoder("kept")
        with self._reading:
            return encoder.is_kept(sentences)

    def vectors(self, key: str, sentences: Sequence[str]) -> Vectors:
        """(n, d) vectors of length 1 of the sentences of a book, of the last few in memory.

        While a book is being prepared, those of sentences that are not encoded yet are NaN.
        """
        begun = self._begun.get(key)
        if begun is not None:
            return begun
        with self._table:
            if key in self._books:
                self._books.move_to_end(key)
                return self._books[key]
        encoder = self._encoder("kept")
        with self._reading:
            encoded = _unit(encoder.encode(sentences, count=1).vectors())
        self._hold(key, encoded)
        return encoded

    def _hold(self, key: str, vectors: Vectors) -> None:
        with self._table:
            self._books[key] = vectors
            self._books.move_to_end(key)
            while len(self._books) > _BOOKS:
                self._books.popitem(last=False)

    def asked(self, texts: Sequence[str]) -> Vectors:
        """(q, d) vectors of length 1 of some queries, which are not kept."""
        encoder = self._encoder("query")
        encoded = encoder.once([encoder.text((text,)) for text in texts])
        return _unit(np.stack([output[0].reshape(-1) for output in encoded]))

    def words(self, words: Sequence[str]) -> Vectors:
        """(n, d) vectors of length 1 of single words, of the last ones in memory."""
        with self._table:
            new = [word for word in dict.fromkeys(words) if word not in self._words]
        encoded = self.asked(new) if new else ()
        with self._table:
            for word, vector in zip(new, encoded, strict=True):
                self._words[word] = vector
            stacked = np.stack([self._words[word] for word in words])
            while len(self._words) > _WORDS:
                self._words.popitem(last=False)
        return stacked


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    from irtoolkit.retrievers.vectors import unit

    return unit(vectors.astype(np.float32))

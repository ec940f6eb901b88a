"""Averaged word embeddings, trained where they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.analysis import StopWords, Tokenizer, analyzer
from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import read_lines, sha256
from irtoolkit.retrievers._terms import Vocabulary, document_frequencies
from irtoolkit.retrievers.base import Retriever, Scorer
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import Segments
from irtoolkit.retrievers.vectors import negative_distances


@dataclass(frozen=True)
class Word2Vec(Retriever):
    """Mean word2vec vector of a text, ranked by L2 distance (CSFCube Appendix C: *_cbow200).

    The embeddings are trained with gensim; one worker and a seed make training repeatable. A text
    without a known word has the zero vector.

    Attributes:
        weighting: "tfidf" weights each word's vector by tf·(ln((1+N)/(1+n)) + 1) before averaging.
        train: "corpus", every document of the collection, or a text file with one text in a line.
        size: dimensions.
        window: words on either side that a word is learnt from.
        min_count: occurrences below which a word has no vector.
        epochs: passes over the training text.
        architecture: gensim's continuous bag of words, or skip-gram.
        tokenizer: see `irtoolkit.base.analysis`.
        stop: the words left out: scikit-learn's English list, Lucene's, or none.
        seed: of training.
    """

    name: ClassVar[str] = "word2vec"

    weighting: Literal["none", "tfidf"] = "none"
    train: str = "corpus"
    size: int = 200
    window: int = 5
    min_count: int = 2
    epochs: int = 20
    architecture: Literal["cbow", "skipgram"] = "cbow"
    tokenizer: Tokenizer = "word"
    stop: StopWords = "none"
    seed: int = 1

    def missing(self) -> str | None:
        if find_spec("gensim") is None:
            return str(needs_extra("gensim", "neural"))
        if self.train != "corpus" and not Path(self.train).is_file():
            return f"the training text {self.train} is not there"
        return None

    def reads_corpus(self) -> bool:
        return self.train == "corpus"

    def fingerprint(self) -> str | None:
        return None if self.train == "corpus" or self.missing() else sha256(self.train)

    def scorer(self, task: Task) -> Scorer:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        for name in ("size", "window", "min_count", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"setting {name}={getattr(self, name)} is not at least 1")
        analyze = analyzer(self.tokenizer, self.stop)
        texts = [analyze(text) for text in self._training_texts(task)]
        words = self._train(texts)
        vocabulary = Vocabulary(analyze)
        corpus = vocabulary.count((" ".join(text),) for text in texts)
        vectors = np.zeros((len(vocabulary), self.size))
        for term, number in vocabulary.items():
            if term in words:
                vectors[number] = words[term]
        if self.weighting == "tfidf":
            found = document_frequencies(corpus)
            idf = np.log((1 + corpus.shape[0]) / (1 + found)) + 1
        else:
            idf = np.ones(len(vocabulary))
        # A word without a vector must not pull the mean towards zero.
        idf[~vectors.any(axis=1)] = 0.0

        def means(segments: Iterable[Segments]) -> NDArray[np.float64]:
            counts = vocabulary.count(segments)[:, : len(idf)]
            totals: NDArray[np.float64] = counts @ idf
            summed: NDArray[np.float64] = counts @ (vectors * idf[:, None])
            return np.divide(summed, totals[:, None], out=summed, where=totals[:, None] > 0)

        queries, docs = means(task.queries), means(task.docs)

        return lambda doc: lambda query: negative_distances(queries[query], docs[doc])

    def _training_texts(self, task: Task) -> Iterator[str]:
        if self.train == "corpus":
            return (" ".join(segments) for segments in task.corpus())
        return (line for _, line in read_lines(self.train) if line.strip())

    def _train(self, texts: list[list[str]]) -> Any:
        from gensim.models import Word2Vec as Gensim

        try:
            model = Gensim(
                texts, vector_size=self.size, window=self.window, min_count=self.min_count,
                sg=int(self.architecture == "skipgram"), epochs=self.epochs, seed=self.seed, workers=1,
            )  # fmt: skip
        except RuntimeError:  # gensim's word for an empty vocabulary
            raise InputError(
                f"no word occurs {self.min_count} times in the training text",
                file=None if self.train == "corpus" else self.train,
                remedy="give more text, or a lower min_count",
            ) from None
        return model.wv

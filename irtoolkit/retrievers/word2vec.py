"""Averaged word embeddings, trained where they are used."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from irtoolkit.base.analysis import Analysis, Analyzer, StopWords, Tokenizer, analyzer
from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.datasets.cache import content_hash
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.base import Ask, Block, Retriever, Scorer
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.text_files import FileStatistics, file_texts
from irtoolkit.retrievers.texts import BLOCK_DOCS
from irtoolkit.retrievers.vectors import prepared


@dataclass(frozen=True)
class Word2Vec(Retriever):
    """Mean word2vec vector of a text, ranked by L2 distance (CSFCube Appendix C: *_cbow200).

    The embeddings are trained with gensim; one worker and a seed make training repeatable. A text
    without a known word has the zero vector.

    Attributes:
        weighting: "tfidf" weights each word's vector by tf·(ln((1+N)/(1+n)) + 1) before averaging.
        train: "corpus", every document of the collection, or a file of texts, one in a line or as JSON
            lines; see `irtoolkit.retrievers.text_files`.
        size: dimensions.
        window: words on either side that a word is learnt from.
        min_count: occurrences below which a word has no vector.
        epochs: passes over the training text.
        architecture: gensim's continuous bag of words, or skip-gram.
        tokenizer: see `irtoolkit.base.analysis`.
        stop: the words left out: scikit-learn's English list, Lucene's, or none.
        seed: of training.
        statistics: whose frequencies "tfidf" takes: those of the training text ("train"), or of
            such a file; a word of none of its texts weighs nothing.
    """

    name: ClassVar[str] = "word2vec"
    format: ClassVar[int] = 2
    read_with: ClassVar = {"statistics": ("weighting=tfidf",)}

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
    statistics: str = "train"

    def missing(self) -> str | None:
        if find_spec("gensim") is None:
            return str(needs_extra("gensim", "neural"))
        for name, path in self._files.items():
            if not path.is_file():
                return f"the {name} file {path} is not there"
        return None

    @property
    def _files(self) -> dict[str, Path]:
        """The files of texts that settings name, by setting."""
        settings = {"train": (self.train, "corpus"), "statistics": (self.statistics, "train")}
        return {name: Path(value) for name, (value, usual) in settings.items() if value != usual}

    def reads_corpus(self) -> bool:
        return self.train == "corpus"

    def fingerprint(self) -> str | None:
        if not self._files or self.missing():
            return None
        return " ".join(content_hash(path) for path in self._files.values())

    def prepare(self, task: Task) -> Ask:
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        for name in ("size", "window", "min_count", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"setting {name}={getattr(self, name)} is not at least 1")
        analyze = analyzer(self.tokenizer, self.stop)
        vocabulary = _WordNumbers(analyze)
        with tempfile.TemporaryDirectory() as folder:
            texts = TokenLines(Path(folder, "tokens"))
            texts.write(map(analyze, self._training_texts(task)))
            # The numbers of words follow the training text: the order of a text's words in its
            # sum decides the last bit of a score.
            for block in texts.blocks():
                vocabulary.learn(block)
            words = self._train(texts)
        means = _Means(vocabulary, words, self._weights(vocabulary))
        docs = means(task.docs)

        def ask(query_task: Task) -> Scorer:
            queries = means(query_task.queries)

            def candidates(doc: Ints) -> Block:
                compare = prepared(docs[doc], "l2", "cpu")
                return lambda query: compare(queries[query])

            return candidates

        return ask

    def _weights(self, vocabulary: _WordNumbers) -> NDArray[np.float64]:
        """The weight of each word of the training text."""
        terms = vocabulary.names()
        if self.weighting == "none":
            return np.ones(max(1, len(terms)))
        size, frequencies = vocabulary.texts, vocabulary.frequencies
        if "statistics" in self._files:
            analysis = Analysis(self.tokenizer, self.stop, "none")
            statistics = FileStatistics(self._files["statistics"], analysis)
            size, frequencies = statistics.size, statistics.vocabulary().of(Strings.of(terms))
        weights = np.log((1 + size) / (1 + frequencies)) + 1
        weights[frequencies == 0] = 0.0
        return weights

    def _training_texts(self, task: Task) -> Iterator[str]:
        texts = task.corpus() if self.train == "corpus" else file_texts(self.train)
        return (" ".join(segments) for segments in texts)

    def _train(self, texts: Iterable[list[str]]) -> Any:
        from gensim.models import Word2Vec as Gensim

        try:
            model = Gensim(
                texts,
                vector_size=self.size,
                window=self.window,
                min_count=self.min_count,
                sg=int(self.architecture == "skipgram"),
                epochs=self.epochs,
                seed=self.seed,
                workers=1,
            )
        except RuntimeError:  # gensim's word for an empty vocabulary
            raise InputError(
                f"no word occurs {self.min_count} times in the training text",
                file=None if self.train == "corpus" else self.train,
                remedy="give more text, or a lower min_count",
            ) from None
        return model.wv


class _WordNumbers:
    """Numbers words as they appear, and counts them in texts.

    Attributes:
        texts: number of texts of which words were learnt.
        frequencies: (w,) in how many of them each word occurs.
    """

    def __init__(self, analyze: Analyzer) -> None:
        self._analyze = analyze
        self._numbers: dict[str, int] = {}
        self.texts, self.frequencies = 0, np.zeros(0, np.int64)

    def names(self) -> list[str]:
        """Returns every word, at its number."""
        return list(self._numbers)

    def learn(self, texts: Sequence[Segments]) -> None:
        """Takes in the frequencies of the words of more texts."""
        found = np.bincount(self.count(texts).indices, minlength=len(self._numbers))
        found[: len(self.frequencies)] += self.frequencies
        self.texts, self.frequencies = self.texts + len(texts), found

    def count(self, texts: Iterable[Segments]) -> Any:
        """Returns a (texts, words) CSR matrix of counts; its words are those that have appeared."""
        words, ends = array("i"), array("q", [0])
        for segments in texts:
            for word in chain.from_iterable(map(self._analyze, segments)):
                words.append(self._numbers.setdefault(word, len(self._numbers)))
            ends.append(len(words))
        numbers, starts = np.array(words, np.int32), np.array(ends, np.int64)
        shape = (len(starts) - 1, max(1, len(self._numbers)))
        matrix = csr_array((np.ones(len(numbers)), numbers, starts), shape=shape)
        matrix.sum_duplicates()
        return matrix


class _Means:
    """Gives each text the weighted mean of the vectors of its words.

    Args:
        vocabulary: numbers words; the words of the training text came first.
        vectors: gensim's vectors of words.
        weights: of the first words of the vocabulary, all of the training text among them.
    """

    def __init__(
        self, vocabulary: _WordNumbers, vectors: Any, weights: NDArray[np.float64]
    ) -> None:
        self._vocabulary, self._vectors, self._weights = vocabulary, vectors, weights

    def __call__(self, texts: Iterable[Segments]) -> NDArray[np.float64]:
        """Returns the (texts, size) means; a text without a word that has a vector has zeros."""
        counts = self._vocabulary.count(texts)
        used = np.unique(counts.indices)
        names = self._vocabulary.names()
        vectors = np.zeros((len(used), self._vectors.vector_size))
        weights = np.zeros(len(used))
        for column, number in enumerate(used):
            # A word without a vector must not pull the mean towards zero.
            if names[number] in self._vectors:
                vectors[column] = self._vectors[names[number]]
                weights[column] = self._weights[number] if vectors[column].any() else 0.0
        used_counts = counts[:, used]
        totals: NDArray[np.float64] = used_counts @ weights
        summed: NDArray[np.float64] = used_counts @ (vectors * weights[:, None])
        return np.divide(summed, totals[:, None], out=summed, where=totals[:, None] > 0)


class TokenLines:
    """Texts in tokens, each a line of a file, which is read once for each pass over them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, texts: Iterable[list[str]]) -> None:
        """Writes the texts."""
        with open(self._path, "w", encoding="utf-8", newline="\n") as out:
            out.writelines(f"{' '.join(tokens)}\n" for tokens in texts)

    def __iter__(self) -> Iterator[list[str]]:
        return (line.split() for line in self._lines())

    def blocks(self) -> Iterator[list[Segments]]:
        """The texts in blocks, each text as one segment."""
        lines = self._lines()
        while block := list(islice(lines, BLOCK_DOCS)):
            yield [(line,) for line in block]

    def _lines(self) -> Iterator[str]:
        with open(self._path, encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield line.rstrip("\n")

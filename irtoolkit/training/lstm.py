"""Encoders over word vectors that are trained from scratch: LSTMs, and Transform.

FROM_SCRATCH has them by the name that a recipe gives as its `start`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, read_lines
from irtoolkit.base.plurals import number_of
from irtoolkit.models.presets import Side
from irtoolkit.training.recipes import Recipe

_PAD, _UNKNOWN, _SEPARATOR = "[PAD]", "[UNK]", "[SEP]"
# Size of an LSTM's state, and of the vectors of words that no file gives.
_WIDTH = 300
# Size of Transform's states, and its heads and layers, as in its authors' code.
_TRANSFORM_WIDTH, _HEADS, _LAYERS = 200, 2, 3
# Standard deviation of the vectors of words that no file gives.
_DEVIATION = 0.1
# Standard deviation of what NNQR adds to the first vectors of the words of quotes.
_PERTURBED = 0.05


def lstm(recipe: Recipe, pooling: str, reader: Any) -> list[Any]:
    """Returns the modules of an LSTM in one direction with pooled states.

    Args:
        recipe: gives the size of the state.
        pooling: "own", which is the last state, "mean" or "max".
        reader: the module that reads words as vectors.
    """
    from sentence_transformers.sentence_transformer.modules import LSTM, Pooling

    width = _WIDTH if recipe.width is None else recipe.width
    network = LSTM(reader.get_embedding_dimension(), width, bidirectional=False)
    mode = "lasttoken" if pooling == "own" else pooling
    return [reader, network, Pooling(width, pooling_mode=mode)]


def transform(
    recipe: Recipe, texts: Iterable[str], docs: Sequence[str], seed: int
) -> tuple[list[Any], list[Any]]:
    """Returns the modules of contexts and of quotes of Transform (Wang et al. 2021).

    Both have the same vocabulary.

    Args:
        recipe: gives the size of states and the length of quotes.
        texts: texts with the vocabulary.
        docs: the quotes.
        seed: seed of the vectors of words that no file gives.
    """
    import torch

    from irtoolkit.models.transform import ContextTransformer, QuoteTransformer
    from irtoolkit.models.word_vectors import WordVectors

    if not docs:
        raise InputError(f"start={recipe.start} needs the documents of a training set")
    words = [_SEPARATOR, *(word for word in vocabulary(texts) if word != _SEPARATOR)]
    vectors = _vectors(recipe, words, seed, _TRANSFORM_WIDTH)
    tokenizer = _tokenizer(words)
    reader = WordVectors(tokenizer, vectors, update_embeddings=True)
    width = vectors.shape[1]
    if width % _HEADS:
        raise InputError(f"width={width} is not even", remedy="an even width")
    coded = [reader.tokenizer.tokenize(doc)[: recipe.doc_length] for doc in docs]
    longest = max(1, *map(len, coded))
    names = [QuoteTransformer.name_of(doc) for doc in docs]
    quotes = QuoteTransformer(width, _HEADS, _LAYERS, len(vectors), longest, names)
    for row, ids in enumerate(coded):
        quotes.ids[row, : len(ids)] = torch.tensor(ids)
    quotes.vectors = reader.emb_layer  # contexts and quotes share the vectors of words
    contexts = ContextTransformer(
        width, _HEADS, _LAYERS, tokenizer.convert_tokens_to_ids(_SEPARATOR)
    )
    return [reader, contexts], [quotes]


# Starts that score each document by weights of its own.
KNOWING = {"transform": transform}
FROM_SCRATCH: dict[str, Callable[..., Any]] = {"lstm": lstm, "nnqr": lstm, **KNOWING}


def encoder_maker(
    recipe: Recipe, texts: Iterable[str], seed: int
) -> Callable[[str, Side], list[Any]]:
    """Returns a function that makes encoders with the same vocabulary.

    It maps a pooling and a side to modules of sentence-transformers.

    Args:
        recipe: gives the network, and may give a file of word vectors.
        texts: texts with the vocabulary of the encoders; all other words share one vector.
        seed: seed of the vectors of words that no file gives.

    Raises:
        InputError: the texts have no word, a file is not valid, or `details` has none of the texts.
    """
    from irtoolkit.models.quote_words import QuoteWords
    from irtoolkit.models.word_vectors import WordVectors

    details = _About(recipe)
    words = vocabulary(details.noting(texts))
    details.check_quotes()
    tokenizer, vectors = _tokenizer(words), _vectors(recipe, words, seed)

    def make(pooling: str, side: Side) -> list[Any]:
        reader: Any
        if recipe.start == "nnqr" and side == "document":
            noise = np.random.default_rng(seed + 1).normal(0, _PERTURBED, vectors.shape)
            noisy = vectors + noise.astype(np.float32) * (vectors != 0)
            reader = QuoteWords(tokenizer, noisy, names_of=details.names, update_embeddings=True)
        else:
            # The vectors are copied.
            reader = WordVectors(tokenizer, vectors, update_embeddings=True)
        return lstm(recipe, pooling, reader)

    return make


class _About:
    """The topics and authors of quotes that a recipe names, and whether any quote is in use."""

    def __init__(self, recipe: Recipe) -> None:
        from irtoolkit.models.quote_words import read_about

        self._path = recipe.about
        self.names = {} if recipe.about is None else read_about(recipe.about)
        self._used = False

    def noting(self, texts: Iterable[str]) -> Iterator[str]:
        """Yields the texts, of which some should be quotes."""
        for text in texts:
            self._used = self._used or text.lower() in self.names
            yield text

    def check_quotes(self) -> None:
        """Raises InputError if no text is one of the quotes."""
        if self.names and not self._used:
            raise InputError(
                f"none of its {number_of(len(self.names), 'quotes')} is among the training texts",
                file=self._path,
                remedy="write the quotes as the documents have them",
            )


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Returns the words of some texts by descending frequency, then in alphabetical order."""
    reader = _reader()
    counts: Counter[str] = Counter()
    for text in texts:
        normal = reader.normalizer.normalize_str(text)
        counts.update(word for word, _ in reader.pre_tokenizer.pre_tokenize_str(normal))
    if not counts:
        raise InputError("the training texts have no word")
    return sorted(counts, key=lambda word: (-counts[word], word))


def read_vectors(path: StrPath, words: frozenset[str] | set[str]) -> dict[str, NDArray[np.float32]]:
    """Returns the vectors of some words in a file of word vectors.

    Each line is a word and the numbers of its vector, as in GloVe's files; the file is plain or
    .gz. A first line with two numbers, as word2vec writes it, is skipped. Of two lines with the
    same word the first one counts.

    Args:
        path: the file.
        words: the words to read.

    Raises:
        InputError: a line has no vector, or one of another size than the first line's; or the file
            has none of the words.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    width = None
    for number, line in read_lines(path):
        # Some words in GloVe's files contain spaces.
        word, *values = line.rstrip().rsplit(" ", -1 if width is None else width)
        if number == 1 and len(values) == 1:
            continue
        if width is None:
            width = len(values)
        if len(values) != width or not width:
            raise InputError(
                f"{len(values)} numbers, and the first line has {width}" if width else "no vector",
                file=path,
                line=number,
                remedy="a line is a word and the numbers of its vector, separated by spaces",
            )
        if word not in words or word in vectors:
            continue
        vector = _vector_of(values)
        if vector is None:
            raise InputError(
                f"the vector of {word!r} has a value that is not a number",
                file=path,
                line=number,
                remedy="download or create the file again",
            )
        vectors[word] = vector
    if not vectors:
        raise InputError(
            f"has none of the {len(words)} words of the training texts",
            file=path,
            remedy="give vectors of lower-case words in the same language",
        )
    return vectors


def _vector_of(values: list[str]) -> NDArray[np.float32] | None:
    """Returns the vector of some numbers as text; None if one is not a finite number."""
    try:
        vector = np.array(values, np.float32)
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _vectors(
    recipe: Recipe, words: list[str], seed: int, usual: int = _WIDTH
) -> NDArray[np.float32]:
    """Returns (words + 2, d) vectors of padding (zero), of the unknown word, and of all words.

    Vectors that the file of the recipe lacks are drawn at random.
    """
    pretrained = {} if recipe.words is None else read_vectors(recipe.words, set(words))
    width = len(next(iter(pretrained.values()))) if pretrained else recipe.width or usual
    draw = np.random.default_rng(seed)
    matrix = draw.normal(0, _DEVIATION, (len(words) + 2, width)).astype(np.float32)
    matrix[0] = 0
    for row, word in enumerate(words, 2):
        if word in pretrained:
            matrix[row] = pretrained[word]
    return matrix


def _reader() -> Any:
    """Returns a tokenizer for lower-case words, and for Chinese characters like BERT's."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    tokenizer = Tokenizer(WordLevel({}, unk_token=_UNKNOWN))
    tokenizer.normalizer = BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _tokenizer(words: list[str]) -> Any:
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    reader = _reader()
    numbers = {word: i for i, word in enumerate([_PAD, _UNKNOWN, *words])}
    reader.model = WordLevel(numbers, unk_token=_UNKNOWN)
    special = {"sep_token": _SEPARATOR} if words[0] == _SEPARATOR else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=reader, pad_token=_PAD, unk_token=_UNKNOWN, **special
    )

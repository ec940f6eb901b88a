"""Encoders that start from no checkpoint: an LSTM over the vectors of words.

A start is an entry of `SCRATCH`; a recipe names it as its `start`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, read_lines
from irtoolkit.training.recipes import Recipe

_PAD, _UNKNOWN = "[PAD]", "[UNK]"
# Of an LSTM's state, and of the vectors of words that no file gives.
_WIDTH = 300
# Deviation of the vectors of words that no file gives.
_DEVIATION = 0.1


def lstm(recipe: Recipe, pooling: str, reader: Any) -> list[Any]:
    """An LSTM in one direction, and one vector of its states.

    Args:
        recipe: may give the width of the state.
        pooling: "own", which is the last state, "mean" or "max".
        reader: gives the vectors of words.
    """
    from sentence_transformers.sentence_transformer.modules import LSTM, Pooling

    width = _WIDTH if recipe.width is None else recipe.width
    network = LSTM(reader.get_embedding_dimension(), width, bidirectional=False)
    mode = "lasttoken" if pooling == "own" else pooling
    return [reader, network, Pooling(width, pooling_mode=mode)]


SCRATCH: dict[str, Callable[[Recipe, str, Any], list[Any]]] = {"lstm": lstm}


def encoder_maker(recipe: Recipe, texts: Iterable[str], seed: int) -> Callable[[str], list[Any]]:
    """Makes encoders with the same words: from a pooling to modules of sentence-transformers.

    Args:
        recipe: says what stands over the words, and may name a file of their vectors.
        texts: whose words are known; any other is one and the same unknown word.
        seed: of the vectors of words that no file gives.

    Raises:
        InputError: there is no word; or something is wrong with the file.
    """
    from irtoolkit.models.modules import WordVectors

    words = vocabulary(texts)
    tokenizer, vectors = _tokenizer(words), _vectors(recipe, words, seed)

    def make(pooling: str) -> list[Any]:
        reader = WordVectors(tokenizer, vectors, update_embeddings=True)  # of which it has a copy
        return SCRATCH[recipe.start](recipe, pooling, reader)

    return make


def vocabulary(texts: Iterable[str]) -> list[str]:
    """The words of some texts, the most frequent first; equally frequent ones by the alphabet."""
    reader = _reader()
    counts: Counter[str] = Counter()
    for text in texts:
        normal = reader.normalizer.normalize_str(text)
        counts.update(word for word, _ in reader.pre_tokenizer.pre_tokenize_str(normal))
    if not counts:
        raise InputError("the texts to train on have no word")
    return sorted(counts, key=lambda word: (-counts[word], word))


def read_vectors(
    path: StrPath, wanted: frozenset[str] | set[str]
) -> dict[str, NDArray[np.float32]]:
    """The vectors of some words in a file of lines `word number number ...`, as GloVe has them.

    Plain or .gz. A first line of two numbers, as word2vec writes it, is passed over. Of two lines
    with the same word the first counts.

    Raises:
        InputError: a line has no number, or another number of them than the first; or the file
            has none of the words.
    """
    found: dict[str, NDArray[np.float32]] = {}
    width = None
    for number, line in read_lines(path):
        word, *values = line.rstrip().rsplit(" ") if width is None else _parted(line, width)
        if number == 1 and len(values) == 1:
            continue
        if width is None:
            width = len(values)
        if len(values) != width or not width:
            raise InputError(
                f"{len(values)} numbers, where the first line has {width}" if width else "no vector",
                file=path, line=number, remedy="a word and the numbers of its vector, parted by spaces",
            )  # fmt: skip
        if word not in wanted or word in found:
            continue
        try:
            vector = np.array(values, np.float32)
        except ValueError:
            vector = np.full(1, np.nan, np.float32)
        if not np.isfinite(vector).all():
            raise InputError(
                f"the vector of {word!r} has what is no number",
                file=path, line=number, remedy="fetch or make the file again",
            )  # fmt: skip
        found[word] = vector
    if not found:
        raise InputError(
            f"has none of the {len(wanted)} words to train on",
            file=path, remedy="vectors of the same language, of words in lower case",
        )  # fmt: skip
    return found


def _parted(line: str, width: int) -> list[str]:
    """A word and its numbers; some of GloVe's words have spaces."""
    return line.rstrip().rsplit(" ", width)


def _vectors(recipe: Recipe, words: list[str], seed: int) -> NDArray[np.float32]:
    """(words and two, d) vectors: of padding zeros, of words from the file or drawn at random."""
    known = {} if recipe.words is None else read_vectors(recipe.words, set(words))
    width = len(next(iter(known.values()))) if known else recipe.width or _WIDTH
    draw = np.random.default_rng(seed)
    made = draw.normal(0, _DEVIATION, (len(words) + 2, width)).astype(np.float32)
    made[0] = 0
    for row, word in enumerate(words, 2):
        if word in known:
            made[row] = known[word]
    return made


def _reader() -> Any:
    """Splits texts into words in lower case, and Chinese into characters, as BERT's tokenizer."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    made = Tokenizer(WordLevel({}, unk_token=_UNKNOWN))
    made.normalizer = BertNormalizer(lowercase=True, strip_accents=False)
    made.pre_tokenizer = BertPreTokenizer()
    return made


def _tokenizer(words: list[str]) -> Any:
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    reader = _reader()
    numbers = {word: i for i, word in enumerate([_PAD, _UNKNOWN, *words])}
    reader.model = WordLevel(numbers, unk_token=_UNKNOWN)
    return PreTrainedTokenizerFast(tokenizer_object=reader, pad_token=_PAD, unk_token=_UNKNOWN)

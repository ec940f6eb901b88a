"""The share of a query's words in a passage: Equation 5 of PlotRetrieval (Xu et al. 2023, §4.2)."""

from __future__ import annotations

from collections.abc import Callable, Set
from importlib.util import find_spec
from typing import Literal

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError, needs_extra

# The distinct words of a text, without stop words.
WordSets = Callable[[str], Set[str]]
WordSource = Literal["nltk", "sklearn"]

_RESOURCES = ("tokenizers/punkt_tab/english", "corpora/stopwords/english")


def word_overlap(query_words: Set[str], doc_words: Set[str]) -> float:
    """Returns the share of a query's distinct words that a passage has (Eq. 5), 0 without words."""
    return len(query_words & doc_words) / len(query_words) if query_words else 0.0


def word_sets(source: WordSource, *, fold_case: bool = False) -> WordSets:
    """Returns a function from a text to its distinct words.

    "nltk" splits English text with NLTK's word_tokenize and drops its English stop words, as the
    paper does, and tokens without a letter or digit. The paper says nothing of upper and lower
    case. "sklearn" takes lower-case words of two or more characters without scikit-learn's stop
    words.

    Args:
        source: the library of the tokens and stop words.
        fold_case: whether to ignore case; "sklearn" always does.

    Raises:
        InputError: NLTK or its data are not installed.
    """
    if source == "sklearn":
        words = analyzer("word", "sklearn")
        return lambda text: set(words(text))
    remedy = missing_words(source)
    if remedy is not None:
        raise remedy
    from nltk.corpus import stopwords
    from nltk.tokenize import word_tokenize

    stop = frozenset(stopwords.words("english"))

    def words_of(text: str) -> Set[str]:
        tokens = word_tokenize(text)
        selected = (t for t in tokens if t.lower() not in stop and any(map(str.isalnum, t)))
        return {token.lower() if fold_case else token for token in selected}

    return words_of


def missing_words(source: WordSource) -> InputError | None:
    """Returns the error if `word_sets` lacks a library or data, otherwise None."""
    if source != "nltk":
        return None
    if find_spec("nltk") is None:
        return needs_extra("nltk", "neural")
    import nltk

    for resource in _RESOURCES:
        try:
            nltk.data.find(resource)
        except LookupError:
            return InputError(
                f"NLTK's {resource.split('/')[1]} is not on this machine",
                remedy="run `python -m nltk.downloader punkt_tab stopwords`, or set NLTK_DATA to the"
                " folder that has it",
            )
    return None

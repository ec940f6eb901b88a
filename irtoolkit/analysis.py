"""From text to terms: tokenisers and stop words, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Literal

Tokenizer = Literal["word", "whitespace"]
StopWords = Literal["sklearn", "none"]
Analyzer = Callable[[str], list[str]]

# scikit-learn's default token: two or more word characters.
_WORD = re.compile(r"(?u)\b\w\w+\b")

TOKENIZERS: dict[str, Analyzer] = {"word": _WORD.findall, "whitespace": str.split}


@cache
def stop_words(name: StopWords) -> frozenset[str]:
    """The words a list stops: scikit-learn's English list, or none."""
    if name == "none":
        return frozenset()
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def analyzer(tokenizer: Tokenizer, stop: StopWords) -> Analyzer:
    """Lower-cases, splits and drops stop words; repeated terms are kept."""
    split, stopped = TOKENIZERS[tokenizer], stop_words(stop)
    return lambda text: [term for term in split(text.lower()) if term not in stopped]

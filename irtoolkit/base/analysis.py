"""Text analysis: tokenisers, stop words and stemmers, by name.

Tokenisers: "word" is scikit-learn's (two or more word characters), "whitespace" splits at white
space, "standard" is Lucene's StandardTokenizer (Unicode's word boundaries), "cjk" is Lucene's
CJKAnalyzer for Chinese and Japanese (overlapping pairs of characters), "jieba" is the Chinese
segmenter of that name.

An analyzer is a name for a tokeniser, stop words and a stemmer: "lucene-en" is Lucene's English
analyzer, "standard" splits in the same way and keeps all words unchanged, "cjk" is for Chinese,
Japanese and Korean, "words" is scikit-learn's tokens without its stop words.
"""

from __future__ import annotations

import re
import runpy
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from irtoolkit.base import word_boundaries
from irtoolkit.base.errors import needs_extra
from irtoolkit.base.languages import common_words

Tokenizer = Literal["word", "whitespace", "standard", "cjk", "jieba"]
StopWords = Literal["sklearn", "lucene", "none"]
Stemmer = Literal["none", "porter"]
AnalyzerName = Literal["lucene-en", "standard", "cjk", "words"]


class Analysis(NamedTuple):
    """The settings of text analysis: a tokeniser, stop words and a stemmer, by name."""

    tokenizer: Tokenizer
    stop: StopWords
    stem: Stemmer


ANALYZERS: dict[AnalyzerName, Analysis] = {
    "lucene-en": Analysis("standard", "lucene", "porter"),
    "standard": Analysis("standard", "none", "none"),
    "cjk": Analysis("cjk", "none", "none"),
    "words": Analysis("word", "sklearn", "none"),
}
# English words that say nothing alone and that scikit-learn's list lacks; words in it that say much.
_PLAIN_ENGLISH = (
    "ain't did does doing having just let like mr mrs ms said say says shall shan't upon use used"
    " uses using won't"
)
_CONTENT_ENGLISH = (
    "amount bill bottom call cry describe detail empty fill find fire found front full interest mill"
    " mine move name part serious show side sincere system thick thin top"
)
# What may follow such a word: "haven't" is "have".
_CONTRACTED = ("", "'t", "n't", "'s", "'d", "'m", "'ll", "'re", "'ve")
# Languages by their codes, classical Chinese too.
_EASTERN = ("zh", "lzh", "ja", "ko")

# scikit-learn's default token.
_WORD = re.compile(r"(?u)\b\w\w+\b")
# Han, Hiragana, Katakana and Hangul, of which "cjk" makes pairs.
_EAST = (
    "3006-3007 3021-3029 3038-303b 3400-4dbf 4e00-9fff f900-faff 20000-3ffff"
    " 3041-3096 309d-309f 30a1-30fa 30fc-30ff 31f0-31ff ff66-ff9d ac00-d7a3"
)
# Latin as wide as a Han character, and Katakana half as wide.
_WIDE = re.compile("[\uff01-\uff5e\uff65-\uff9f]+")
# Lucene cuts what is longer into pieces.
_LONGEST = 255

# org.apache.lucene.analysis.en.EnglishAnalyzer's.
_LUCENE_STOP = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then"
    " there these they this to was will with"
)

# Words whose stems are remembered.
_REMEMBERED = 1 << 15

# Raised by hand when the same text gives other terms.
FORMAT = 2


@dataclass(frozen=True)
class Analyzer:
    """A function from a text to its terms.

    Attributes:
        split: lower-cased text to tokens.
        term: token to term, or None for one that is stopped.
        lower: text to lower case.
    """

    split: Callable[[str], list[str]]
    term: Callable[[str], str | None]
    lower: Callable[[str], str] = str.lower

    def __call__(self, text: str) -> list[str]:
        """Returns the terms of a text in order, with repeated terms."""
        terms = map(self.term, self.split(self.lower(text)))
        return [term for term in terms if term is not None]


def analyzer(tokenizer: Tokenizer, stop: StopWords, stem: Stemmer = "none") -> Analyzer:
    """Returns an analyzer that lower-cases, splits, drops stop words and stems.

    Raises:
        InputError: the tokeniser is jieba, which is not installed.
    """
    stopped, stemmed = stop_words(stop), _stemmer(stem)

    def term(token: str) -> str | None:
        if stem == "porter" and token[-2:] in ("'s", "\u2019s", "\uff07s"):
            token = token[:-2]  # as Lucene's English analyzer does, before it stops and stems
        return None if token in stopped else stemmed(token)

    lower = _lower_each if tokenizer in ("standard", "cjk") else str.lower
    return Analyzer(_tokenizer(tokenizer), term, lower)


def analyzer_for(lang: str | None) -> AnalyzerName:
    """Returns the analyzer for texts in a language; English if the language is unknown."""
    if lang is None or lang.startswith("en"):
        return "lucene-en"
    return "cjk" if lang in _EASTERN else "standard"


def analysis_of(settings: Mapping[str, Any], lang: str | None = None) -> Analysis:
    """Returns the text analysis under some settings; the language decides those that are "auto"."""
    name = settings.get("analyzer", "auto")
    usual = ANALYZERS[analyzer_for(lang) if name == "auto" else name]
    explicit = {part: settings[part] for part in Analysis._fields if settings[part] != "auto"}
    return usual._replace(**explicit)


def missing_tokenizer(tokenizer: str) -> str | None:
    """Returns an error message if a tokeniser's package is not installed, otherwise None."""
    if tokenizer == "jieba" and find_spec("jieba") is None:
        return str(needs_extra("jieba", "chinese"))
    return None


@cache
def stop_words(name: StopWords) -> frozenset[str]:
    """Returns the stop words of a list: scikit-learn's English list, Lucene's, or none."""
    if name == "none":
        return frozenset()
    if name == "lucene":
        return frozenset(_LUCENE_STOP.split())
    return _sklearn_stop_words()


def is_function_word(word: str, lang: str | None = None) -> bool:
    """Returns whether a word, in lower case, says nothing alone: "have", "didn't", "upon".

    Languages that are unknown are taken for English.
    """
    if lang is not None and not lang.startswith("en"):
        return word in common_words(lang)
    plain = word.replace("\u2019", "'")
    return any(plain.removesuffix(end) in _english_function_words() for end in _CONTRACTED)


@cache
def _english_function_words() -> frozenset[str]:
    return (stop_words("sklearn") | set(_PLAIN_ENGLISH.split())) - set(_CONTENT_ENGLISH.split())


def _sklearn_stop_words() -> frozenset[str]:
    """scikit-learn's list, from the one file that holds it: importing scikit-learn takes seconds."""
    installed = find_spec("sklearn")
    for folder in (installed and installed.submodule_search_locations) or ():
        file = Path(folder, "feature_extraction", "_stop_words.py")
        if file.is_file():
            words = runpy.run_path(str(file)).get("ENGLISH_STOP_WORDS")
            if isinstance(words, frozenset):
                return words
    # A release that keeps it elsewhere, or a zip file.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def _stemmer(name: Stemmer) -> Callable[[str], str]:
    if name == "none":
        return str
    return _remembered_stem()


@cache
def _remembered_stem() -> Callable[[str], str]:
    """Returns the Porter stemmer with a cache of recent stems: most words come again."""
    from irtoolkit.base.porter import stem

    return lru_cache(_REMEMBERED)(stem)


def _tokenizer(name: Tokenizer) -> Callable[[str], list[str]]:
    if name == "jieba":
        return _jieba()
    if name == "standard":
        return _standard
    if name == "cjk":
        return _cjk
    return _WORD.findall if name == "word" else str.split


def _lower_each(text: str) -> str:
    """Lower-cases letter by letter, as Lucene does: without a final sigma or a dotted i in two."""
    return text.replace("\u03a3", "\u03c3").replace("\u0130", "i").lower()


def _standard(text: str) -> list[str]:
    if text.isascii() and text.replace(" ", "").isalnum():
        return _cut(text.split()) if len(text) > _LONGEST else text.split()
    is_western = text.isascii() or word_boundaries.special().search(text) is None
    pattern = word_boundaries.western_tokens() if is_western else word_boundaries.tokens()
    tokens = pattern.findall(text)
    return _cut(tokens) if len(text) > _LONGEST else tokens


def _cut(tokens: list[str]) -> list[str]:
    return [token[i : i + _LONGEST] for token in tokens for i in range(0, len(token), _LONGEST)]


@cache
def _pairs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns two patterns: one of text that is cut into pairs, one of that or any other token."""
    east = word_boundaries.code_points(_EAST)
    run = word_boundaries.one_of(east) + "+"
    others = word_boundaries.tokens(east)
    return re.compile(run), re.compile(f"{run}|{others.pattern}")


def _cjk(text: str) -> list[str]:
    run, either = _pairs()
    tokens: list[str] = []
    for token in either.findall(_WIDE.sub(_usual_width, text)):
        if len(token) > 1 and run.match(token):
            tokens.extend(token[i : i + 2] for i in range(len(token) - 1))
        else:
            tokens.append(token)
    return _cut(tokens)


def _usual_width(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0]).lower()


@cache
def _jieba() -> Callable[[str], list[str]]:
    remedy = missing_tokenizer("jieba")
    if remedy is not None:
        raise needs_extra("jieba", "chinese")
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    # What holds no word character is punctuation.
    return lambda text: [token for token in jieba.cut(text) if re.search(r"\w", token)]

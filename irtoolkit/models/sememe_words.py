"""The words of a text that have sememes: which tokens of an encoded text belong to which word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from irtoolkit.base.errors import needs_extra

Lookup = Literal["longest", "nltk", "tokens"]
# NLTK's word tokenizer writes quotation marks so.
_MARKS = ("``", "''")


def words_of_tokens(
    lookup: Lookup, text: str, coded: Any, numbers: Mapping[str, int], longest: int
) -> list[int]:
    """Returns the number of each token's word, 0 for a token without one.

    Args:
        lookup: "longest" takes the longest sequences of the pre-tokenizer's words that are known,
            from left to right; "nltk" the words of NLTK's tokenizer; "tokens" each token itself.
        text: the text.
        coded: the encoded text, a `tokenizers.Encoding`.
        numbers: the number of each known word, in lower case.
        longest: number of characters of the longest known word.
    """
    if lookup == "tokens":
        return [numbers.get(token.lower(), 0) for token in coded.tokens]
    if lookup == "nltk":
        return _in_spans(_nltk_words(text, numbers), coded)
    return _longest_matches(text, coded, numbers, longest)


def _longest_matches(text: str, coded: Any, numbers: Mapping[str, int], longest: int) -> list[int]:
    # A word that truncation cuts in two is still that word.
    places: dict[int, tuple[int, int]] = {}
    for part in (coded, *coded.overflowing):
        for word, (begin, end) in zip(part.word_ids, part.offsets, strict=True):
            if word is not None:
                low, high = places.get(word, (begin, end))
                places[word] = (min(low, begin), max(high, end))
    ordered = sorted(places)
    ends: dict[int, int] = {}
    i = 0
    while i < len(ordered):
        begin = places[ordered[i]][0]
        j = i
        while j < len(ordered) and places[ordered[j]][1] - begin <= longest:
            j += 1
        while j > i:
            number = numbers.get(text[begin : places[ordered[j - 1]][1]].lower())
            if number is not None:
                ends.update(dict.fromkeys(ordered[i:j], number))
                break
            j -= 1
        i = max(j, i + 1)
    return [0 if word is None else ends.get(word, 0) for word in coded.word_ids]


def _nltk_words(text: str, numbers: Mapping[str, int]) -> list[tuple[int, int, int]]:
    """Returns the first and last position and number of each known word of NLTK's tokenizer.

    NLTK's `word_tokenize` splits a text into sentences first, by a model that is downloaded. Here
    a word loses its final full stop instead if it is not known with it.
    """
    try:
        from nltk.tokenize.destructive import NLTKWordTokenizer
    except ImportError:
        raise needs_extra("nltk", "neural") from None
    spans: list[tuple[int, int, int]] = []
    end = 0
    for word in NLTKWordTokenizer().tokenize(text):
        begin = text.find(word, end)
        if begin < 0 or word in _MARKS:  # a quotation mark, written in another way
            continue
        end = begin + len(word)
        number = numbers.get(word.lower()) or numbers.get(word.lower().rstrip("."))
        if number is not None:
            spans.append((begin, end, number))
    return spans


def _in_spans(spans: list[tuple[int, int, int]], coded: Any) -> list[int]:
    """Returns the number of the span that each token begins in, 0 for one outside all spans."""
    inside = []
    remaining = iter(spans)
    span = next(remaining, None)
    for word, (begin, _) in zip(coded.word_ids, coded.offsets, strict=True):
        if word is None:
            inside.append(0)
            continue
        while span is not None and span[1] <= begin:
            span = next(remaining, None)
        inside.append(span[2] if span is not None and span[0] <= begin else 0)
    return inside

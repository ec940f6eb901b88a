"""A text as plain words, by which quotations are compared with books.

In Chinese, Japanese, Thai, Korean and similar scripts each character is a word: these scripts have
no spaces between words, or editions set them differently.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.base.languages import CHARACTER_RANGES, SOUTHEAST_RANGES

Grams = NDArray[np.uint64]
Characters = NDArray[np.uint32]
# Words that a quotation must share with a book in one run for it to be looked for there.
GRAM = 4
CHARACTER = re.compile(f"[{CHARACTER_RANGES}]")
# Marks on letters: accents of decomposed Latin, Greek and Cyrillic, and vowels of Indic scripts.
_ACCENTS = "\u0300-\u036f"
_LETTER = rf"[^\W_{CHARACTER_RANGES}]"
_INNER = rf"(?:{_LETTER}|[{_ACCENTS}\u0900-\u0963\u0966-\u0dff])"
# A Thai or Lao consonant with its vowels and tone; other characters of scripts without spaces with theirs.
_THAI = "[\u0e40-\u0e44\u0ec0-\u0ec4]?[\u0e01-\u0e2e\u0e81-\u0eae][\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebc\u0ec6-\u0ecd]*"
_SINGLE = rf"(?=\w)[{CHARACTER_RANGES}](?:(?!\w)[{SOUTHEAST_RANGES}])*"
_WORD = re.compile(rf"{_THAI}|{_SINGLE}|{_LETTER}{_INNER}*(?:['\u2019]{_INNER}+)*")
# Points of Hebrew and Arabic, which most editions leave out.
_POINTS = range(0x591, 0x6EE)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Words:
    """The words of a text in lower case, without accents, apostrophes and punctuation.

    Attributes:
        line: the words, separated by single spaces.
        begins, ends: (W,) position of each word in the text.
        offsets: (W + 1,) position of each word in `line`; the last is one past a space after it.
        codes: (W,) a hash of each word.
    """

    line: str
    begins: Ints
    ends: Ints
    offsets: Ints
    codes: Grams

    def __len__(self) -> int:
        return len(self.begins)

    @classmethod
    def of(cls, text: str) -> Words:
        """Returns the words of a text."""
        begins, ends, pieces = array("q"), array("q"), []
        for match in _WORD.finditer(text):
            word = plain(match[0])
            if word:
                begins.append(match.start())
                ends.append(match.end())
                pieces.append(word)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        offsets = np.concatenate([[0], np.cumsum(lengths + 1)])
        codes = np.fromiter(map(_code, pieces), np.uint64, len(pieces))
        return cls(
            " ".join(pieces), np.array(begins, np.int64), np.array(ends, np.int64), offsets, codes
        )

    def grams(self) -> Grams:
        """Returns (W - GRAM + 1,) a hash of each run of `GRAM` words.

        Empty if there are fewer words.
        """
        return grams_of(self.codes)

    def between(self, first: int, last: int) -> str:
        """Returns the words from `first` up to, but not including, `last`."""
        return self.line[self.offsets[first] : max(self.offsets[first], self.offsets[last] - 1)]

    def within(self, begin: int, end: int) -> tuple[int, int]:
        """Returns the words that lie in a part of the text: the first, and one past the last."""
        first = int(np.searchsorted(self.begins, begin))
        return first, max(first, int(np.searchsorted(self.ends, end, side="right")))

    def characters(self) -> Characters:
        """Returns `line` as code points."""
        return code_points(self.line)


def count_words(text: str) -> int:
    """Returns how many words a text has; see `Words`."""
    return len(_WORD.findall(text))


def code_points(line: str) -> Characters:
    """Returns a text as an array of code points."""
    return np.frombuffer(line.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)


def grams_of(codes: Grams) -> Grams:
    """Returns a hash of each run of `GRAM` words, from the hashes of the words."""
    count = len(codes) - GRAM + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    hashes = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for i in range(GRAM):
            hashes = (hashes * _FACTOR) ^ codes[i : i + count]
            hashes ^= hashes >> np.uint64(29)
    return hashes


@lru_cache(maxsize=1 << 18)
def plain(word: str) -> str:
    """Returns a word in lower case, without accents and apostrophes; "" if nothing is left."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in parts if c.isalnum() or _is_vowel(c))


def _is_vowel(character: str) -> bool:
    """Returns whether a mark is a vowel or tone of its script, and not an accent or a point."""
    code = ord(character)
    return code >= 0x370 and code not in _POINTS and unicodedata.category(character) in ("Mn", "Mc")


@lru_cache(maxsize=1 << 18)
def _code(word: str) -> int:
    # Python's own hash differs from process to process.
    digest = hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")

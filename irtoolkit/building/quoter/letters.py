"""A text as its letters and digits alone, by which quotes are compared.

Case, accents, white space, line ends, hyphens, quotation marks and all other punctuation do not
count, in any language, so that "To-day, I\\nsaw" and "Today I saw" are the same letters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints

# Raised when the same text gives other letters.
FORMAT = 1
Unit = Literal["words", "characters"]
# The scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = re.compile(f"[{_UNSPACED}]")
# Marks on letters: the accents of Latin, Greek and Cyrillic. Those of other scripts are letters.
_ACCENTS = range(0x300, 0x370)
# Code points from here on are ideographs up to 0x3FFFF, and no letters beyond.
_HIGH, _END = 0x20000, 0x40000
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


class _Table(NamedTuple):
    """The letters of each code point c below `_HIGH`: flat[starts[c]:][:counts[c]]."""

    flat: NDArray[np.uint32]
    starts: Ints
    counts: NDArray[np.uint8]


@lru_cache(maxsize=1)
def _table() -> _Table:
    flat: list[int] = []
    starts, counts = np.zeros(_HIGH + 1, np.int64), np.zeros(_HIGH + 1, np.uint8)
    for code in range(_HIGH):
        folded = _letters(chr(code))
        starts[code], counts[code] = len(flat), len(folded)
        flat += map(ord, folded)
    # One place for all ideographs, which are themselves.
    starts[_HIGH], counts[_HIGH] = len(flat), 1
    return _Table(np.array([*flat, 0], np.uint32), starts, counts)


def _letters(character: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(c for c in plain if _counts(c))


def _counts(character: str) -> bool:
    if ord(character) in _ACCENTS:
        return False
    return character.isalnum() or unicodedata.category(character) in ("Mn", "Mc")


@dataclass(frozen=True)
class Letters:
    """The letters of a text.

    Attributes:
        line: the letters.
        at: (L,) the position of each in the text, ascending.
    """

    line: str
    at: Ints

    @classmethod
    def of(cls, text: str) -> Letters:
        """Returns the letters of a text."""
        table = _table()
        codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), np.uint32)
        low = np.minimum(codes, _HIGH).astype(np.int32)
        counts = table.counts[low]
        counts[codes >= _END] = 0
        positions = np.repeat(np.arange(len(codes)), counts)
        places = table.starts[low[positions]]
        if (counts > 1).any():
            firsts = np.cumsum(counts, dtype=np.int64) - counts
            places += np.arange(len(positions)) - firsts[positions]
        values = table.flat[places]
        high = codes[positions] >= _HIGH
        values[high] = codes[positions][high]
        return cls(values.tobytes().decode("utf-32-le"), positions)

    def __len__(self) -> int:
        return len(self.at)


def letters(text: str) -> str:
    """Returns the letters of a short text."""
    return "".join(map(_letters_of, text))


# A text has most of its words many times.
_letters_of_word = lru_cache(maxsize=1 << 16)(letters)


@lru_cache(maxsize=1 << 16)
def _letters_of(character: str) -> str:
    if ord(character) >= _HIGH:
        return character if ord(character) < _END else ""
    return _letters(character)


def unit_of(text: str) -> Unit:
    """Returns the unit of contexts of such texts, by their script."""
    characters = sum(1 for _ in UNSPACED.finditer(text))
    return "characters" if 2 * characters > sum(1 for c in text if c.isalnum()) else "words"


def tokens(text: str, unit: Unit) -> list[tuple[str, int, int]]:
    """Returns the words or characters of a text as letters, each with its begin and end."""
    pattern: Any = _WORD if unit == "words" else re.compile(r"\w")
    words = ((_letters_of_word(match[0]), *match.span()) for match in pattern.finditer(text))
    return [token for token in words if token[0]]

"""The contexts of quotes: words or characters before and after, without those of the quote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from irtoolkit.base.languages import EAST
from irtoolkit.building.quoter.corpus import FILL
from irtoolkit.building.quoter.letters import Unit, tokens

# Raised when the same occurrences give other contexts.
FORMAT = 1
# Words or characters in a row that a context may share with its quote.
_LEAK = {"words": 5, "characters": 8}
# A hyphen at the end of a line, until it is known whether it belongs to the word.
HYPHEN = "\ue000"
_LINE_END = re.compile(r"(?<=[^\W\d_])[-\u00ac\u2010][ \t]*\n\s*(?=[^\W\d_])")
# Spaces beside Chinese and Japanese characters, which only the lines of the file have.
_EASTERN = rf"{EAST.pattern[:-1]}\u3000-\u303f\uff00-\uffef]"
_BETWEEN = re.compile(rf"(?<={_EASTERN}) | (?={_EASTERN})")
_WORD = re.compile(r"\S*\w\S*")


def side(text: str, count: int, unit: Unit, *, left: bool) -> str:
    """Returns a number of words or characters of a text, on one line.

    Args:
        text: the text before or after a quote.
        count: how many.
        unit: words or characters.
        left: whether to take the last ones in place of the first.
    """
    text = text.replace(FILL, "").replace("_", "")
    text = _LINE_END.sub(HYPHEN, text)
    if unit == "characters":
        line = _BETWEEN.sub("", " ".join(text.split()))
        return (line[-count:] if left else line[:count]).strip()
    words = list(_WORD.finditer(text))
    if len(words) > count:
        text = text[words[-count].start() :] if left else text[: words[count - 1].end()]
    return " ".join(text.split())


def without(text: str, quoted: Sequence[str], unit: Unit) -> tuple[str, int]:
    """Returns a context without the runs of words that its quote has, and their number.

    Args:
        text: one side of a context.
        quoted: the words or characters of the quote, as letters.
        unit: words or characters.
    """
    size = min(_LEAK[unit], len(quoted))
    runs = {tuple(quoted[i : i + size]) for i in range(len(quoted) - size + 1)}
    words = tokens(text, unit)
    leaking: set[int] = set()
    for i in range(len(words) - size + 1):
        if tuple(token[0] for token in words[i : i + size]) in runs:
            leaking.update(range(i, i + size))
    if not leaking:
        return text, 0
    starts = [i for i in sorted(leaking) if i - 1 not in leaking]
    pieces_kept, begin = [], 0
    for first in starts:
        last = first
        while last + 1 in leaking:
            last += 1
        pieces_kept.append(text[begin : words[first][1]])
        begin = words[last][2]
    pieces_kept.append(text[begin:])
    joined = ("" if unit == "characters" else " ").join(pieces_kept)
    return " ".join(joined.split()), len(starts)


class Hyphens:
    """Decides of words that a line end divides whether they have a hyphen elsewhere."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._known: Counter[str] = Counter()
        for text in texts:
            self._known.update(word.strip(".,;:!?\"'()").casefold() for word in text.split())

    def mended(self, text: str) -> str:
        """Returns a text with every divided word joined."""
        return " ".join(map(self._word, text.split())) if HYPHEN in text else text

    def _word(self, word: str) -> str:
        if HYPHEN not in word:
            return word
        bare = word.strip(".,;:!?\"'()").casefold()
        parted = self._known[bare.replace(HYPHEN, "-")] > self._known[bare.replace(HYPHEN, "")]
        return word.replace(HYPHEN, "-" if parted else "")


def runs(text: str, unit: Unit) -> frozenset[str]:
    """Returns the runs of `_LEAK` words or characters of a context, as letters."""
    words = [token[0] for token in tokens(text, unit)]
    size = _LEAK[unit]
    return frozenset(" ".join(words[i : i + size]) for i in range(len(words) - size + 1))

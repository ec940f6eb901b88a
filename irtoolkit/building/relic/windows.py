"""Windows of criticism: the sentences before and after a quotation, without its own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.sentences import split_sentences
from irtoolkit.building.relic.marks import MARKS, Document
from irtoolkit.building.relic.quotations import Quotation
from irtoolkit.building.relic.words import Words

# Raised when the same quotations give other windows.
FORMAT = 3
# Sentences on each side.
CONTEXT = 4
# Words in a row that a context may share with the quotation.
_LEAK = 5
_OPEN = re.compile(rf"[\s(\[{re.escape(MARKS)}]+$")
_CLOSE = re.compile(
    rf"^[\s)\]{re.escape(MARKS)}.,;:!?\u2026*]+(?=\s|$)|^[\s)\]{re.escape(MARKS)}]+"
)


@dataclass(frozen=True)
class Window:
    """A quotation with the text before and after it.

    Attributes:
        quotation: the quotation.
        left, right: at most `CONTEXT` sentences each.
        leaks: runs of words of the quotation that were cut out of them.
    """

    quotation: Quotation
    left: tuple[str, ...]
    right: tuple[str, ...]
    leaks: int = 0


def window(
    document: Document, quotation: Quotation, sentences: Sequence[str], lang: str | None
) -> Window:
    """Returns the window around a quotation.

    Args:
        document: the work of criticism.
        quotation: one of its quotations.
        sentences: those of the book that are quoted.
        lang: the language of the work, as a code.
    """
    quoted = set(runs(" ".join(sentences)))
    quoted |= set(runs(document.text[quotation.begin : quotation.end]))
    sides, leaks = [], 0
    for side in (-1, 1):
        sentences_kept: list[str] = []
        for sentence in _sentences(document, quotation, side, lang):
            bare, cut = without(sentence, quoted)
            leaks += cut
            if re.search(r"\w", bare):
                sentences_kept.append(bare)
            if len(sentences_kept) == CONTEXT:
                break
        sides.append(tuple(sentences_kept[::side]))
    return Window(quotation, sides[0], sides[1], leaks)


def runs(text: str) -> list[str]:
    """Returns the runs of `_LEAK` words of a text."""
    words = Words.of(text).line.split()
    return [" ".join(words[i : i + _LEAK]) for i in range(len(words) - _LEAK + 1)]


def without(sentence: str, quoted: set[str]) -> tuple[str, int]:
    """Returns a sentence without its quoted runs of `_LEAK` words or more, and their number."""
    words = Words.of(sentence)
    line = words.line.split()
    leaking = np.zeros(len(line), bool)
    for i in range(len(line) - _LEAK + 1):
        if " ".join(line[i : i + _LEAK]) in quoted:
            leaking[i : i + _LEAK] = True
    if not leaking.any():
        return sentence, 0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], leaking.astype(np.int8), [0]])))
    bare, i = [], 0
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        bare.append(sentence[i : words.begins[first]])
        i = int(words.ends[last - 1])
    bare.append(sentence[i:])
    text = " ".join(" ".join(bare).split())
    # What is left of a sentence that was all quotation says nothing.
    return ("" if (~leaking).sum() < 3 else text), len(edges) // 2


def _sentences(document: Document, quotation: Quotation, side: int, lang: str | None) -> list[str]:
    """Returns the sentences on one side of a quotation, the nearest first.

    As many as a window may need.
    """
    number = int(np.searchsorted(document.begins, quotation.begin, side="right")) - 1
    if side > 0:
        number = int(np.searchsorted(document.begins, quotation.end, side="left")) - 1
    begin, paragraph = document.begins[number], document.paragraphs[number].text
    if side < 0:
        part = _OPEN.sub("", paragraph[: max(0, quotation.begin - begin)])
    else:
        part = _CLOSE.sub("", paragraph[max(0, quotation.end - begin) :])
    sentences: list[str] = []
    while True:
        sentences += split_sentences(part, lang)[::side]
        number += side
        # A few more than needed: a sentence that is all leak is left out.
        if len(sentences) >= 3 * CONTEXT or not 0 <= number < len(document.paragraphs):
            return sentences
        if document.paragraphs[number].heading:
            return sentences
        part = document.paragraphs[number].text

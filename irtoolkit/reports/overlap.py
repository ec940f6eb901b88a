"""Terms that two texts share, and their positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from irtoolkit.base.analysis import analyzer, is_function_word

# Terms of more than this share of the texts say nothing, where there are enough texts to tell.
_SHARE, _FEWEST = 0.4, 30
# Pieces of a text, plain and marked in turn, the first one plain; joined they are the text.
Pieces = list[str]


class Overlap:
    """Finds the terms that two texts share: words without stop words, pairs of CJK characters.

    Words are compared by their Porter stems where the language is English or unknown. Single letters
    are no words.
    """

    def __init__(self, lang: str | None = None) -> None:
        english = lang is None or lang.startswith("en")
        self._analyze = analyzer("cjk", "none", "porter" if english else "none")
        self._terms: dict[str, str | None] = {}
        self._common: frozenset[str] = frozenset()

    def leave_out_common(self, texts: Iterable[str]) -> None:
        """Takes terms of most of some texts for stop words too, whatever the language."""
        counts: Counter[str] = Counter()
        size = 0
        for text in texts:
            size += 1
            counts.update(self.terms(text))
        if size >= _FEWEST:
            self._common = frozenset(t for t, n in counts.items() if n > _SHARE * size)

    def terms(self, text: str) -> set[str]:
        """The terms of a text."""
        return {term for _, _, term in self.located(text)}

    def mark(self, text: str, shared: Collection[str]) -> Pieces:
        """A text in pieces; the marked ones are the shared terms."""
        return cut(text, ((a, z) for a, z, term in self.located(text) if term in shared))

    def located(self, text: str) -> list[tuple[int, int, str]]:
        """Returns the terms of a text in order: where each starts and stops, and the term."""
        lowered = self._analyze.lower(text)
        # A character with a longer lower case would shift all positions after it.
        if len(lowered) != len(text):
            lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        found, at, last = [], 0, ""
        for token in self._analyze.split(lowered):
            # Pairs of characters overlap: the second of one is the first of the next.
            start = -1
            if last and token[0] == last[-1] and len(last) == 2:
                start = at - 1 if lowered.startswith(token, at - 1) else -1
            if start < 0:
                start = lowered.find(token, at)
            if start < 0:  # the analyzer changed it, as it does half-width letters
                continue
            at, last = start + len(token), token
            term = self._term(token)
            if term and term not in self._common:
                found.append((start, at, term))
        return found

    def _term(self, token: str) -> str | None:
        if token not in self._terms:
            plain = is_function_word(token) or (len(token) == 1 and token.isascii())
            self._terms[token] = None if plain else self._analyze.term(token)
        return self._terms[token]


def cut(text: str, spans: Iterable[tuple[int, int]]) -> Pieces:
    """Returns a text in pieces: spans, ascending, are marked; those that touch or overlap are one."""
    pieces: Pieces = []
    at = 0
    for start, stop in spans:
        if pieces and start <= at:
            pieces[-1] += text[at:stop]
        else:
            pieces += [text[at:start], text[start:stop]]
        at = max(at, stop)
    return [*pieces, text[at:]]

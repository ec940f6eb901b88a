"""Invented books, and invented criticism that quotes them in known places."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_SMALL = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "that",
    "it",
    "was",
    "he",
    "she",
    "his",
    "her",
    "with",
    "for",
    "had",
    "not",
    "but",
    "as",
    "at",
]
_ONSETS = [
    "b",
    "br",
    "c",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "qu",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
]
_NUCLEI = ["a", "e", "i", "o", "u", "ea", "ou", "ai"]
_CODAS = ["n", "r", "l", "st", "nd", "ck", "m", "t", "ss", "ve", "ght", "ld"]
# What scanners take for something else.
_CONFUSED = {"l": "1", "e": "c", "h": "b", "n": "u", "m": "rn", "o": "0", "t": "f", "s": "5"}
WIDTH, PAGE = 68, 34


def _vocabulary(draw: random.Random, count: int = 700) -> list[str]:
    def word() -> str:
        parts = range(draw.choice((1, 2, 2, 3)))
        return "".join(
            draw.choice(_ONSETS) + draw.choice(_NUCLEI) + draw.choice(_CODAS) for _ in parts
        )

    # Short words may look like abbreviations, which end no sentence.
    return sorted({made for _ in range(count) if len(made := word()) > 4})


def sentence(draw: random.Random, words: Sequence[str], low: int = 10, high: int = 22) -> str:
    """A sentence of invented words between small ones."""
    found = [
        draw.choice(_SMALL) if draw.random() < 0.4 else draw.choice(words)
        for _ in range(draw.randint(low, high))
    ]
    found[-1] = draw.choice(words)
    if len(found) > 12:
        found[len(found) // 2] += ","
    return f"{' '.join(found).capitalize()}."


def book(seed: int, sentences: int = 300) -> list[str]:
    """The sentences of a book."""
    draw = random.Random(seed)
    words = _vocabulary(draw)
    return [sentence(draw, words) for _ in range(sentences)]


def as_text(title: str, sentences: Sequence[str]) -> str:
    """A book as a file, five sentences a paragraph."""
    paragraphs = [" ".join(sentences[at : at + 5]) for at in range(0, len(sentences), 5)]
    return "\n\n".join([f"Title: {title}", "CHAPTER I", *paragraphs]) + "\n"


@dataclass(frozen=True)
class Planted:
    """A quotation: how it is changed, and where it is from."""

    kind: str
    book: str
    start: int
    length: int


@dataclass
class Article:
    """A work of criticism as lines of pages, and what it quotes."""

    text: str = ""
    planted: list[Planted] = field(default_factory=list)


def _spelled(draw: random.Random, text: str) -> str:
    """Every seventh long word with a letter more or less."""
    words = text.split(" ")
    for at in range(draw.randrange(7), len(words), 7):
        if len(words[at]) > 4:
            words[at] = (
                words[at].replace("ou", "o", 1)
                if "ou" in words[at]
                else f"{words[at][:3]}e{words[at][3:]}"
            )
    return " ".join(words)


def _scanned(draw: random.Random, text: str) -> str:
    return "".join(_CONFUSED[c] if c in _CONFUSED and draw.random() < 0.02 else c for c in text)


def _elided(draw: random.Random, text: str) -> str:
    words = text.split(" ")
    middle = len(words) // 2
    mark = draw.choice([". . .", "\u2026", "[...]", "..."])
    return " ".join([*words[: middle - 2], mark, *words[middle + 2 :]])


def _inserted(draw: random.Random, text: str) -> str:
    words = text.split(" ")
    middle = len(words) // 2
    return " ".join([*words[:middle], "[the invented hero]", *words[middle:]])


# How a quotation is changed, and what stands around it.
_CHANGES: dict[str, Callable[[random.Random, str], str]] = {
    "exact": lambda _, text: text,
    "spelling": _spelled,
    "scan": _scanned,
    "ellipsis": _elided,
    "insertion": _inserted,
    "unmarked": lambda _, text: text,
    "block": lambda _, text: text,
}
_AROUND = {"unmarked": ("", "")}
_PAIRS = [
    ("\u201c", "\u201d"),
    ('"', '"'),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
    ("\u201e", "\u201c"),
]
KINDS = tuple(_CHANGES)


def article(books: Mapping[str, Sequence[str]], seed: int, quotations: int = 42) -> Article:
    """Criticism that quotes books in every way, and a book that nobody has as often again."""
    draw = random.Random(seed)
    words = _vocabulary(random.Random(9_000 + seed))
    unknown = book(50_000 + seed)
    made, paragraphs = Article(), []
    for number in range(quotations):
        kind = KINDS[number % len(KINDS)]
        name = draw.choice(sorted(books))
        length = draw.choice((1, 1, 2, 3)) if kind not in ("ellipsis", "insertion") else 1
        start = draw.randrange(len(books[name]) - length)
        while kind == "ellipsis" and len(books[name][start].split()) < 13:
            start += 1 if start + 2 < len(books[name]) else -start
        quoted = _CHANGES[kind](draw, " ".join(books[name][start : start + length]))
        made.planted.append(Planted(kind, name, start, length))
        paragraphs += _paragraph(draw, words, kind, quoted)
        if number % 4 == 0:  # of a book that is not there
            at = draw.randrange(len(unknown) - 2)
            paragraphs += _paragraph(draw, words, "exact", " ".join(unknown[at : at + 2]))
    made.text = _pages(draw, paragraphs)
    return made


def _paragraph(draw: random.Random, words: Sequence[str], kind: str, quoted: str) -> list[str]:
    def said() -> str:
        return " ".join(sentence(draw, words) for _ in range(draw.randint(3, 5)))

    if kind == "block":
        return [f"{said()} He writes:", f">{quoted}", said()]
    before, after = _AROUND.get(kind) or draw.choice(_PAIRS)
    return [f"{said()} As we read: {before}{quoted}{after} {said()}"]


def _pages(draw: random.Random, paragraphs: Sequence[str]) -> str:
    """Paragraphs in lines, with hyphens at line ends, running heads and page numbers."""
    lines: list[str] = []
    for paragraph in paragraphs:
        indent = "      " if paragraph.startswith(">") else ""
        lines += [indent + line for line in _wrapped(draw, paragraph.lstrip(">"))] + [""]
    found, page = [], 1
    for at in range(0, len(lines), PAGE):
        head = f"THE ART OF INVENTION    {page}" if page % 2 else f"{page}    AN INVENTED CRITIC"
        found += [head, "", *lines[at : at + PAGE], "", f"[{page}]", ""]
        page += 2 if draw.random() < 0.1 else 1
    return "\n".join(found)


def _wrapped(draw: random.Random, text: str) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        room = WIDTH - len(line) - 2
        if len(line) + len(word) + 1 <= WIDTH:
            line = f"{line} {word}".strip()
        elif word.isalpha() and len(word) > 6 and room > 4 and draw.random() < 0.6:
            lines.append(f"{line} {word[:3]}-")
            line = word[3:]
        else:
            lines.append(line)
            line = word
    return [*lines, line]

"""Invented quotes, and invented texts that have them in known places."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests import critic

WIDTH = 60
_HAN = [chr(code) for code in range(0x4E10, 0x4F60)]


def western(count: int, seed: int = 0) -> list[str]:
    """Quotes of one to three sentences."""
    draw = random.Random(seed)
    words = sorted({w for s in critic.book(seed, 60) for w in s.strip(".").split() if len(w) > 4})
    return [
        " ".join(critic.sentence(draw, words, 7, 12) for _ in range(draw.choice((1, 1, 1, 2, 3))))
        for _ in range(count)
    ]


def eastern(count: int, seed: int = 0) -> list[str]:
    """Quotes of two clauses of four to seven characters."""
    draw = random.Random(seed)

    def clause() -> str:
        return "".join(draw.choices(_HAN, k=draw.randint(4, 7)))

    return [f"{clause()}，{clause()}。" for _ in range(count)]


def _typographic(text: str, draw: random.Random) -> str:
    return text.replace("'", "\u2019").replace(", ", "\u2014").replace(".", "\u2026")


def _bare(text: str, draw: random.Random) -> str:
    return text.replace(",", "").replace(". ", "; ").rstrip(".")


def _divided(text: str, draw: random.Random) -> str:
    """Its longest word divided between two lines."""
    word = max(text.strip(".").split(), key=len)
    middle = len(word) // 2
    return text.replace(word, f"{word[:middle]}-\n{word[middle:]}", 1)


def _spaced(text: str, draw: random.Random) -> str:
    return "".join(c + draw.choice(["", "", "\n", " "]) for c in text)


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "plain": lambda text, draw: text,
    "capitals": lambda text, draw: text.upper(),
    "lines": lambda text, draw: text.replace(" ", "\n    "),
    "typographic": _typographic,
    "bare": _bare,
    "divided": _divided,
    "italic": lambda text, draw: f"_{text}_",
    "page": lambda text, draw: text.replace(" ", "\n\n[Pg 12]\n", 1),
    "accents": lambda text, draw: text.replace("e", "\u00e9").replace("o", "o\u0308"),
}
EASTERN: dict[str, Callable[[str, random.Random], str]] = {
    "plain": lambda text, draw: text,
    "spaced": _spaced,
    "western marks": lambda text, draw: text.replace("，", ",").replace("。", "."),
    "bare": lambda text, draw: text.replace("，", ""),
}


@dataclass
class Written:
    """A text, and the quotes that are in it.

    Attributes:
        text: the text.
        planted: the place of each, its end, the number of the quote and the kind of change.
    """

    text: str = ""
    planted: list[tuple[int, int, int, str]] = field(default_factory=list)


def essay(quotes: list[str], seed: int, count: int) -> Written:
    """An English text with so many of the quotes, in paragraphs of wrapped lines."""
    draw, prose = random.Random(seed), critic.book(1000 + seed, 6 * count)
    made = Written(f"Title: Essay {seed}\n\n")
    for at in range(count):
        around = prose[6 * at : 6 * at + 6]
        number, kind = draw.randrange(len(quotes)), draw.choice(list(KINDS))
        made.text += _wrapped(" ".join(around[:3])) + ' He said: "'
        begin = len(made.text)
        made.text += KINDS[kind](quotes[number], draw)
        made.planted.append((begin, len(made.text), number, kind))
        made.text += '" ' + _wrapped(" ".join(around[3:])) + "\n\n"
    return made


def zh_essay(quotes: list[str], seed: int, count: int) -> Written:
    """A Chinese text with so many of the quotes."""
    draw, made = random.Random(seed), Written()
    for _ in range(count):
        number, kind = draw.randrange(len(quotes)), draw.choice(list(EASTERN))
        made.text += "".join(draw.choices(_HAN, k=60)) + "曰："
        begin = len(made.text)
        made.text += EASTERN[kind](quotes[number], draw)
        made.planted.append((begin, len(made.text), number, kind))
        made.text += "".join(draw.choices(_HAN, k=60)) + "。\n"
    return made


def _wrapped(text: str) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])

"""The width of text in a terminal: measured, padded, shortened and wrapped in columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

ELLIPSIS = "\u2026"


# What a word too wide for a line is cut after, if it has one: the end of an alternative or of a folder.
_MARK = re.compile(r".*[^|/,][|/,]", re.DOTALL)
# Control characters but the tab and the end of a line.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def char_width(character: str) -> int:
    """Returns the columns of a character: 2 if it is wide, as in Chinese; 0 if it combines."""
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def printable(text: str, replacement: str | None = None) -> str:
    """Returns the text without characters that control a terminal.

    Args:
        text: any text.
        replacement: replaces each of them; by default they are written as in Python, for example \\x1b.
    """
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable()
        else c.encode("unicode_escape").decode()
        if replacement is None
        else replacement
        for c in text
    )


def harmless(text: str) -> str:
    """Returns the text with control characters written as in Python; its lines stay."""
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def text_width(text: str) -> int:
    """Columns that a text of one line takes in a terminal."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Returns the text padded with spaces to a width; in front if `right`, otherwise behind."""
    spaces = " " * max(0, width - text_width(text))
    return spaces + text if right else text + spaces


def take(text: str, width: int, *, from_end: bool = False) -> str:
    """Returns the longest beginning, or end, of a text that is no wider than `width`."""
    characters = reversed(text) if from_end else iter(text)
    used, count = 0, 0
    for character in characters:
        used += char_width(character)
        if used > width:
            break
        count += 1
    return text[len(text) - count :] if from_end else text[:count]


def shorten(text: str, width: int, head: int | None = None) -> str:
    """Returns the text with its middle replaced by an ellipsis if it is wider than `width`.

    Args:
        text: one line.
        width: the most columns that the result takes, at least 1.
        head: columns of the beginning that remain; by default a third, since file names that begin
            alike mostly differ at the end.
    """
    if text_width(text) <= width:
        return text
    length = max(0, width - 1)
    head = length // 3 if head is None else min(head, length)
    return f"{take(text, head)}{ELLIPSIS}{take(text, length - head, from_end=True)}"


def shorten_all(texts: Sequence[str], width: int) -> list[str]:
    """Returns texts shortened to a width, so that different texts stay different if possible.

    Several positions of the ellipsis are tried, the usual one first.
    """
    distinct = len(set(texts))
    usual = max(0, width - 1) // 3
    heads = sorted(range(max(1, width)), key=lambda head: abs(head - usual))
    for head in heads:
        shortened = [shorten(text, width, head) for text in texts]
        if len(set(shortened)) == distinct:
            return shortened
    return [shorten(text, width) for text in texts]


def wrap(text: str, width: int, *, cut: bool = True) -> list[str]:
    """Returns the lines of a text, broken between words.

    A line that is no wider than `width` is returned unchanged, with its spaces.

    Args:
        text: one or several lines.
        width: the most columns that a line takes.
        cut: whether a word wider than a line (a path, for example) is cut, or has its own line.
    """
    return [line for part in text.split("\n") for line in _wrap_line(part, width, cut)]


def _wrap_line(text: str, width: int, cut: bool) -> list[str]:
    if text_width(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if text_width(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        pieces = _pieces(word, width) if cut else [word]
        lines.extend(pieces[:-1])
        line = pieces[-1]
    return [*lines, line] if line else lines


def _pieces(word: str, width: int) -> list[str]:
    """Returns a word in pieces no wider than `width`, which end in "|", "/" or "," if they can.

    A piece has at least one character.
    """
    pieces = []
    while text_width(word) > width:
        piece = take(word, width) or word[0]
        marked = _MARK.match(piece)
        piece = piece if marked is None else marked[0]
        pieces.append(piece)
        word = word[len(piece) :]
    return [*pieces, word] if word or not pieces else pieces

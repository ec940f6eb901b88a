"""Exemplifying units in running text, found by their markers (EgRet §2.1).

A unit is the parenthesised clause that holds "for example" or "e.g.", or else the sentence that
does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from irtoolkit.collections.strictjson import read_jsonl
from irtoolkit.errors import InputError
from irtoolkit.files import StrPath, read_lines

MARKER = re.compile(r"\b(?:for\s+example\b|e\.\s?g\b\.?)", re.IGNORECASE)
# A sentence ends at . ! or ?, with closing marks, before white space and what can begin another.
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]*[A-Z0-9À-Þ])|\n\s*\n|\n(?=\s*[-*•–])")
# What ends in a full stop without ending a sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.\s?g|i\.\s?e|etc|vs|cf|al|mr|mrs|ms|dr|prof|st|no|fig|approx|u\.s|u\.k)|(?<!\S)[A-Z])\.$",
    re.IGNORECASE,
)
# Words of context kept on each side (EgRet §3.1).
CONTEXT = 256
# A clause longer than this is a parenthesis that was never closed where it should have been.
_LONGEST_CLAUSE = 1000


class Example(NamedTuple):
    """An exemplifying unit and the text on its two sides."""

    text: str
    left: str
    right: str
    marker: str


def extract(text: str) -> Iterator[Example]:
    """Yields the exemplifying units of a text in order; units do not overlap.

    A unit that is nothing but its marker is left out.
    """
    done = 0
    spans = sentences(text)
    for match in MARKER.finditer(text):
        if match.start() < done:
            continue
        start, stop = _clause(text, match.start()) or _sentence(spans, match.start())
        unit = text[start:stop].strip()
        rest = MARKER.sub("", unit)
        if not any(character.isalnum() for character in rest):
            continue
        done = stop
        yield Example(unit, text[:start].strip(), text[stop:].strip(), match[0])


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text start and stop, without the space between them."""
    spans, start = [], 0
    for match in _END.finditer(text):
        before = text[start : match.end()].rstrip()
        if match[0].startswith(".") and _ABBREVIATION.search(before.rstrip("\"'”’)]")):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    trimmed = []
    for first, last in spans:
        piece = text[first:last]
        if piece.strip():
            first += len(piece) - len(piece.lstrip())
            trimmed.append((first, first + len(piece.strip())))
    return trimmed


def _sentence(spans: list[tuple[int, int]], at: int) -> tuple[int, int]:
    return next((start, stop) for start, stop in spans if start <= at < stop)


def _clause(text: str, at: int) -> tuple[int, int] | None:
    """The innermost pair of parentheses around a place, or None when it stands in none."""
    depth = 0
    for start in range(at - 1, max(-1, at - _LONGEST_CLAUSE), -1):
        if text[start] == ")":
            depth += 1
        elif text[start] == "(":
            if depth == 0:
                break
            depth -= 1
    else:
        return None
    depth = 0
    for stop in range(start, min(len(text), start + _LONGEST_CLAUSE)):
        depth += (text[stop] == "(") - (text[stop] == ")")
        if depth == 0:
            return start, stop + 1
    return None


def clip(text: str, words: int, *, end: bool) -> str:
    """The first words of a text, or the last ones, between white space."""
    parts = text.split()
    return " ".join(parts[-words:] if end else parts[:words])


def mine(files: Iterable[StrPath]) -> Iterator[dict[str, str]]:
    """Yields the exemplifying units of files, one passage held at a time.

    Args:
        files: plain text, or JSON lines where the name says so (.jsonl, .jsonl.gz).

    Raises:
        InputError: a file that is not UTF-8, or a JSON line without text.
    """
    for file in files:
        for line, passage in _passages(Path(file)):
            for number, example in enumerate(extract(passage), 1):
                yield {
                    "id": f"{Path(file).name}:{line}.{number}",
                    "text": example.text,
                    "left": clip(example.left, CONTEXT, end=True),
                    "right": clip(example.right, CONTEXT, end=False),
                    "marker": example.marker,
                }


def _passages(path: Path) -> Iterator[tuple[int, str]]:
    """The passages of a file, each with the line it begins at."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        for number, record in read_jsonl(path):
            text = record.get("text", record.get("answer")) if isinstance(record, dict) else None
            if not isinstance(text, str):
                raise InputError(
                    "no field text or answer", file=path, line=number,
                    remedy='a line is an object such as {"text": "..."}',
                )  # fmt: skip
            yield number, text
        return
    begin, lines = 1, list[str]()
    for number, line in read_lines(path):
        if line.strip():
            if not lines:
                begin = number
            lines.append(line)
        elif lines:
            yield begin, " ".join(lines)
            lines = []
    if lines:
        yield begin, " ".join(lines)

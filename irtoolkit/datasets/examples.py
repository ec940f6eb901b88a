"""Exemplifying units in running text, found by their markers (EgRet §2.1).

A unit is the parenthesised clause with "for example" or "e.g.", or otherwise the sentence with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.files import StrPath, read_lines
from irtoolkit.datasets.strictjson import read_jsonl

# Raised when the same text gives other units.
FORMAT = 3
# "e. g." only with its second full stop; N.E.G. and http://e.g.com have no marker.
MARKER = re.compile(
    r"\bfor(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)example\b|(?<![\w./])(?:e\.g\b\.?|e\.[^\S\n]g\.)",
    re.IGNORECASE,
)
# A sentence ends at . ! ? or an ellipsis with closing marks, if what follows can begin a sentence;
# or at a blank line; or before a list item.
_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'”’)\]]*+(?=\s+(?:[\"'“‘(\[]*[A-Z0-9À-Þ]|\([a-z]\)\s+[A-Z]))|\n\s*\n|\n(?=\s*[-*•–])"
)
# A full stop after these does not end a sentence: abbreviations, and a capital as an initial.
_ABBREVIATION = re.compile(
    r"(?:\b(?i:e\.\s?g|i\.\s?e|etc|vs|cf|al|mr|mrs|ms|dr|prof|st|approx|u\.s|u\.k)|(?<!\S)[A-Z])\.$"
)
# A passage that is cited: "Gen. 31:11", "(ibid. 20)", "(Prop. XIV.)".
_CITED = re.compile(r"\([^()]{0,32}?\b[\w-]{1,7}\.$")
_WORK = re.compile(r"\b[A-Z][a-z]{1,7}\.$")
_PLACE = re.compile(r"\s+(?:\d|[IVXLC]+\b)")
_VERSE = re.compile(r"\s+\d{1,3}:\d")
_BEFORE_NUMBER = re.compile(r"\b(?i:nos?|figs?|pp?|vol|ch)\.$")
_MARKER_OR_PARENTHESIS = re.compile(rf"{MARKER.pattern}|[()]", re.IGNORECASE)
# Longer than any abbreviation; it bounds the time of looking back.
_LOOK_BACK = 16
# Tokens of context on each side (EgRet §3.1).
CONTEXT = 256
WHITESPACE = "whitespace"
# A longer clause is taken for an unclosed parenthesis.
_LONGEST_CLAUSE = 1000


class Example(NamedTuple):
    """An exemplifying unit, and its place in the text, which is not copied."""

    text: str
    source: str
    start: int
    stop: int
    marker: str

    def context(self, words: int) -> tuple[str, str]:
        """Returns the last words before the unit and the first words after it, joined by spaces."""
        return _last(self.source, self.start, words), _first(self.source, self.stop, words)

    @property
    def left(self) -> str:
        """The text before the unit."""
        return self.source[: self.start].strip()

    @property
    def right(self) -> str:
        """The text after the unit."""
        return self.source[self.stop :].strip()


def extract_examples(text: str) -> Iterator[Example]:
    """Yields the exemplifying units of a text in order; units do not overlap.

    A unit of markers only is left out, and so is a sentence with a parenthesised clause that is
    already a unit.
    """
    # Most texts have no marker and need not be split into sentences.
    spans: list[tuple[int, int]] = []
    clauses: dict[int, tuple[int, int]] = {}
    done = position = 0
    previous: tuple[int, int] | None = None
    for match in MARKER.finditer(text):
        if not spans:
            spans, clauses = sentences(text), _clauses(text)
        while position < len(spans) - 1 and spans[position][1] <= match.start():
            position += 1
        span = clauses.get(match.start()) or spans[position]
        if span == previous or span[0] < done or match.end() > span[1]:
            continue
        previous = span
        start, stop = span
        unit = text[start:stop].strip()
        if any(character.isalnum() for character in MARKER.sub("", unit)):
            done = stop
            yield Example(unit, text, start, stop, match[0])


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns the (start, stop) of each sentence of a text, without surrounding white space."""
    spans, start = [], 0
    for match in _END.finditer(text):
        if match[0].startswith(".") and _abbreviated(text, start, match):
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


def _abbreviated(text: str, start: int, match: re.Match[str]) -> bool:
    """Returns whether the full stop of a match belongs to an abbreviation."""
    tail = text[max(start, match.start() + 1 - _LOOK_BACK) : match.start() + 1]
    if _BEFORE_NUMBER.search(tail):
        return text[match.end() : match.end() + 8].lstrip()[:1].isdigit()
    if _VERSE.match(text, match.end()) and _WORK.search(tail):
        return True
    if _PLACE.match(text, match.end()) and _CITED.search(
        text, max(start, match.start() - 40), match.start() + 1
    ):
        return True
    return _ABBREVIATION.search(tail) is not None


def _clauses(text: str) -> dict[int, tuple[int, int]]:
    """Returns the innermost parentheses around each marker, by the marker's position."""
    opened: list[int] = []
    around: dict[int, int] = {}
    closed: dict[int, int] = {}
    for match in _MARKER_OR_PARENTHESIS.finditer(text):
        position = match.start()
        if match[0] == "(":
            opened.append(position)
        elif match[0] == ")":
            if opened and (start := opened.pop()) in closed:
                closed[start] = position + 1
        elif opened:
            around[position] = opened[-1]
            # Too far away to count, until the closing parenthesis is found.
            closed.setdefault(opened[-1], position + _LONGEST_CLAUSE + 1)
    pairs = ((position, (start, closed[start])) for position, start in around.items())
    return {position: pair for position, pair in pairs if pair[1] - pair[0] <= _LONGEST_CLAUSE}


def clip(text: str, words: int, *, end: bool) -> str:
    """Returns the first or last words of a text, joined by spaces."""
    # Splitting only as far as needed keeps long texts cheap.
    parts = text.rsplit(None, words)[-words:] if end else text.split(None, words)[:words]
    return " ".join(parts)


def _last(text: str, stop: int, words: int) -> str:
    """Returns the last words before a position; reads only as much of the text as needed."""
    reach = 16 * words
    while True:
        tokens = text[max(0, stop - reach) : stop].split()
        if len(tokens) > words or reach >= stop:  # the first one may be half a word
            return " ".join(tokens[-words:])
        reach *= 4


def _first(text: str, start: int, words: int) -> str:
    """Returns the first words after a place; reads only as much of the text as needed."""
    reach = 16 * words
    while True:
        tokens = text[start : start + reach].split()
        if len(tokens) > words or start + reach >= len(text):
            return " ".join(tokens[:words])
        reach *= 4


class Clipper:
    """Truncates contexts to the tokens next to the example.

    Tokens are words between white space, or the tokens of a Hugging Face tokenizer.
    """

    def __init__(self, tokenizer: str = WHITESPACE, tokens: int = CONTEXT) -> None:
        """Raises InputError if there is no such tokenizer, or `tokens` is less than 1."""
        if tokens < 1:
            raise InputError(f"contexts of {tokens} tokens", remedy="keep at least one")
        self._tokens = tokens
        self._tokenizer = None if tokenizer == WHITESPACE else _pretrained(tokenizer)

    def __call__(self, text: str, *, end: bool) -> str:
        """Returns the first tokens of a text, or with `end` the last ones."""
        # A word has at least one token, so the tokens are within as many words.
        text = clip(text, self._tokens, end=end)
        if self._tokenizer is None:
            return text
        places = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        if len(places) <= self._tokens:
            return text
        cut = text[places[-self._tokens][0] :] if end else text[: places[self._tokens - 1][1]]
        return cut.strip()

    def around(self, example: Example) -> tuple[str, str]:
        """Returns the truncated text before an example, and that after it."""
        left, right = example.context(self._tokens)
        return self(left, end=True), self(right, end=False)


def _pretrained(name: str) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise needs_extra("transformers", "neural") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no tokenizer {name!r}: {str(error).splitlines()[0]}",
            remedy="name a folder or a model of the Hugging Face hub",
        ) from None
    if tokenizer.init_kwargs.get("auto_map"):
        raise InputError(
            f"the tokenizer {name!r} comes with code of its own, which irtoolkit does not run",
            remedy="a tokenizer that transformers has",
        )
    return tokenizer


def extract_from_files(
    files: Iterable[StrPath], clipper: Clipper | None = None
) -> Iterator[dict[str, str]]:
    """Yields the exemplifying units of files, with one passage in memory at a time.

    Args:
        files: JSON lines if the name ends in .jsonl or .jsonl.gz; otherwise plain text.
        clipper: truncates the contexts; by default to 256 words.

    Raises:
        InputError: a file is not UTF-8, or a JSON line has no text.
    """
    cut = clipper or Clipper()
    for file in files:
        for line, passage in _passages(Path(file)):
            for number, example in enumerate(extract_examples(passage), 1):
                left, right = cut.around(example)
                yield {
                    "id": f"{Path(file).name}:{line}.{number}",
                    "text": example.text,
                    "left": left,
                    "right": right,
                    "marker": example.marker,
                }


def _passages(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (first line, text) of the passages of a file."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        for number, record in read_jsonl(path, by_user=True):
            text = record.get("text", record.get("answer")) if isinstance(record, dict) else None
            if not isinstance(text, str):
                raise InputError(
                    "no field text or answer",
                    file=path,
                    line=number,
                    remedy='a line is an object such as {"text": "..."}',
                )
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

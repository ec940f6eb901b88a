"""Strict readers of JSON and JSON lines; every error names the file and the line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks, read_lines

TRUNCATED = "the release file is damaged: fetch it again"


def read_json_file(path: Path) -> Any:
    """Reads a JSON file.

    Raises:
        InputError: not UTF-8; not JSON, for example truncated; or an object has a key twice.
    """
    text = "\n".join(line for _, line in read_lines(path))
    return _parse(text, path, 1, TRUNCATED)


def read_jsonl(path: Path, *, by_user: bool = False, skip: int = 0) -> Iterator[tuple[int, Any]]:
    """Yields (line number, value) of each line of a JSON lines file; skips blank lines.

    Args:
        path: the file.
        by_user: whether the user wrote it: a damaged line is then to be edited, not downloaded again.
        skip: how many lines are skipped, whatever they hold.

    Raises:
        InputError: not UTF-8; a line is not JSON, or an object has a key twice.
    """
    for number, line in read_lines(path):
        if number > skip and line.strip():
            remedy = f"edit line {number}: a line is one JSON object" if by_user else TRUNCATED
            yield number, _parse(line, path, number, remedy)


def read_members(path: Path, noun: str) -> Iterator[tuple[int, str, Any]]:
    """Yields (line, key, value) of the object in a JSON file, with one value in memory at a time.

    Args:
        path: the file, all of which may be on one line.
        noun: the name of the object in messages.

    Raises:
        InputError: not UTF-8; not JSON; not an object; or an object has a key twice.
    """
    text = _Window(path)
    if text.next_character() != "{":
        raise text.expected(noun)
    text.advance(1)
    keys: set[str] = set()
    if text.next_character() == "}":
        text.advance(1)
    else:
        while True:
            if text.next_character() != '"':
                raise text.expected("a key")
            line = text.line
            key = text.value()
            if key in keys:
                raise text.invalid(f"the key {key!r} appears twice in one object", line)
            keys.add(key)
            if text.next_character() != ":":
                raise text.expected("a colon")
            text.advance(1)
            text.next_character()
            yield line, key, text.value()
            mark = text.next_character()
            if mark not in ("}", ","):
                raise text.expected("a comma or closing brace")
            text.advance(1)
            if mark == "}":
                break
    if text.next_character():
        raise text.expected("the end of the file")


class _Window:
    """A window on a JSON file that moves forward, and grows when a value needs more text."""

    def __init__(self, path: Path) -> None:
        self.line = 1
        self._path = path
        self._pieces = read_chunks(path)
        self._text = ""
        self._at = 0

    def invalid(self, problem: str, line: int | None = None) -> InputError:
        return InputError(problem, file=self._path, line=line or self.line, remedy=TRUNCATED)

    def expected(self, noun: str) -> InputError:
        if not self.next_character():
            return self.invalid(f"not JSON: the file ends where {noun} is expected")
        return self.invalid(f"not {noun}")

    def next_character(self) -> str:
        """Returns the next character that is not white space; empty at the end of the file."""
        while self._at < len(self._text) or self._grow():
            character = self._text[self._at]
            if character not in " \t\r\n":
                return character
            self.advance(1)
        return ""

    def advance(self, characters: int) -> None:
        """Moves forward, counting lines."""
        self.line += self._text.count("\n", self._at, self._at + characters)
        self._at += characters

    def value(self) -> Any:
        """Reads the value that begins here."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # The value may be incomplete only because the text that was read so far ends.
                cut = error.pos > len(self._text) - _MARGIN or error.msg.startswith("Unterminated")
                if cut and self._grow():
                    continue
                self.advance(error.pos - self._at)
                raise self.invalid(f"not JSON: {error.msg}") from None
            except KeyError:
                down, key = _twin(self._text[self._at :])
                raise self.invalid(
                    f"the key {key!r} appears twice in one object", self.line + down
                ) from None
            except (ValueError, RecursionError) as error:
                raise self.invalid(f"not usable JSON: {error}") from None
            # A number at the end of the text that was read may continue: 1 with .5 or with e+9.
            if len(self._text) - end < _MARGIN and isinstance(value, int | float) and self._grow():
                continue
            _check_surrogates(self._text[self._at : end], value, (self._path, self.line, TRUNCATED))
            self.advance(end - self._at)
            return value

    def _grow(self) -> bool:
        """Doubles the text that was read; returns whether there was more."""
        rest, more = self._text[self._at :], list[str]()
        while sum(map(len, more)) <= len(rest):
            piece = next(self._pieces, None)
            if piece is None:
                break
            more.append(piece)
        if more:
            self._text, self._at = "".join((rest, *more)), 0
        return bool(more)


def line_of(path: Path, text: str) -> int | None:
    """Returns the number of the first line with a text, for messages about parsed content."""
    return next((number for number, line in read_lines(path) if text in line), None)


def line_of_key(path: Path, key: str, *, last: bool = False) -> int | None:
    """Returns the number of the first or last line with a key of an object, escaped or not."""
    forms = "|".join({re.escape(json.dumps(key, ensure_ascii=ascii)) for ascii in (True, False)})
    pattern = re.compile(rf"(?:{forms})\s*:")
    lines = [number for number, line in read_lines(path) if pattern.search(line)]
    return lines[-1 if last else 0] if lines else None


def _parse(text: str, path: Path, line: int, remedy: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON at column {error.colno}: {error.msg}",
            file=path,
            line=line + error.lineno - 1,
            remedy=remedy,
        ) from None
    except KeyError:
        down, key = _twin(text)
        raise InputError(
            f"the key {key!r} appears twice in one object",
            file=path,
            line=line + down,
            remedy=remedy,
        ) from None
    except (ValueError, RecursionError) as error:  # endless digits, endless nesting
        raise InputError(f"not usable JSON: {error}", file=path, line=line, remedy=remedy) from None
    _check_surrogates(text, value, (path, line, remedy))
    return value


def _check_surrogates(text: str, value: Any, where: tuple[Path, int, str]) -> None:
    r"""Raises InputError for half a character, "\ud800" alone: valid JSON, but not valid UTF-8.

    Args:
        text: the JSON.
        value: its parsed value.
        where: its file, its first line, and the remedy.
    """
    if _SURROGATE.search(text) is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.start + 1]
        path, line, remedy = where
        raise InputError(
            f"half a surrogate pair, {ascii(half)[1:-1]}",
            file=path,
            line=line + _line_of_half(text),
            remedy=remedy,
        ) from None


def _line_of_half(text: str) -> int:
    """Returns how many lines down the first string with half a character is."""
    for token in _TOKEN.finditer(text):
        if token[1] and _SURROGATE.search(token[1]):
            try:
                json.loads(token[1]).encode()
            except UnicodeEncodeError:
                return text.count("\n", 0, token.start())
    return 0


_TOKEN = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")(\s*:)?|[{}\[\]]')


def _twin(text: str) -> tuple[int, str]:
    """Returns the first key that its object already has, and how many lines down it is."""
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            objects.append(set())
        elif token[0] in "}]":
            objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return text.count("\n", 0, token.start()), key
            objects[-1].add(key)
    raise AssertionError("a decoder found a key twice that is not there twice")


_SURROGATE = re.compile(r"\\u[dD][89abcdefABCDEF]")
# How far past the position in its error a decoder may have looked: a literal or an escape.
_MARGIN = 16


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise KeyError(key)
        result[key] = value
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)

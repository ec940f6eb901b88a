"""JSON and JSON lines of a release, with the file and line of whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks, read_lines

TRUNCATED = "the release file is damaged: fetch it again"


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        InputError: not UTF-8, not JSON (a truncated file is not), or an object with a key twice.
    """
    text = "\n".join(line for _, line in read_lines(path))
    return _parse(text, path, 1)


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Yields (line number, value) of a JSON lines file; blank lines are passed over."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, _parse(line, path, number)


def read_members(path: Path, what: str) -> Iterator[tuple[int, str, Any]]:
    """Yields (line, key, value) of the object that a JSON file is, holding one value at a time.

    The whole file may stand on one line. `what` names the object in messages.

    Raises:
        InputError: not UTF-8, not JSON, not an object, or a key twice in an object.
    """
    text = _Window(path)
    if text.next_character() != "{":
        raise text.expected(what)
    text.advance(1)
    seen: set[str] = set()
    if text.next_character() == "}":
        text.advance(1)
    else:
        while True:
            if text.next_character() != '"':
                raise text.expected("a key")
            line = text.line
            key = text.value()
            if key in seen:
                raise text.refuse(f"the key {key!r} appears twice in one object", line)
            seen.add(key)
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
    """A stretch of a JSON file, moved along it and grown where a value needs more."""

    def __init__(self, path: Path) -> None:
        self.line = 1
        self._path = path
        self._pieces = read_chunks(path)
        self._text = ""
        self._at = 0

    def refuse(self, found: str, line: int | None = None) -> InputError:
        return InputError(found, file=self._path, line=line or self.line, remedy=TRUNCATED)

    def expected(self, what: str) -> InputError:
        if not self.next_character():
            return self.refuse(f"not JSON: the file ends where {what} should stand")
        return self.refuse(f"not {what}")

    def next_character(self) -> str:
        """The next character that is no white space, or an empty text at the end of the file."""
        while self._at < len(self._text) or self._grow():
            found = self._text[self._at]
            if found not in " \t\r\n":
                return found
            self.advance(1)
        return ""

    def advance(self, characters: int) -> None:
        """Moves on, counting lines."""
        self.line += self._text.count("\n", self._at, self._at + characters)
        self._at += characters

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # A value may only be cut off where the text read so far ends.
                cut = error.pos > len(self._text) - _MARGIN or error.msg.startswith("Unterminated")
                if cut and self._grow():
                    continue
                self.advance(error.pos - self._at)
                raise self.refuse(f"not JSON: {error.msg}") from None
            except KeyError:
                down, key = _twin(self._text[self._at :])
                raise self.refuse(
                    f"the key {key!r} appears twice in one object", self.line + down
                ) from None
            except (ValueError, RecursionError) as error:
                raise self.refuse(f"not usable JSON: {error}") from None
            # A number where what was read ends may go on: 1 with .5, or with the e of e+9.
            if len(self._text) - end < _MARGIN and isinstance(value, int | float) and self._grow():
                continue
            _refuse_surrogates(self._text[self._at : end], value, self._path, self.line)
            self.advance(end - self._at)
            return value

    def _grow(self) -> bool:
        """Reads as much again as is held; whether there was more."""
        kept, more = self._text[self._at :], list[str]()
        while sum(map(len, more)) <= len(kept):
            piece = next(self._pieces, None)
            if piece is None:
                break
            more.append(piece)
        if more:
            self._text, self._at = "".join((kept, *more)), 0
        return bool(more)


def line_of(path: Path, text: str) -> int | None:
    """The first line that holds a text, for messages about parsed content."""
    return next((number for number, line in read_lines(path) if text in line), None)


def line_of_key(path: Path, key: str, *, last: bool = False) -> int | None:
    """The first line, or the last, on which an object's key stands, however it is escaped."""
    forms = "|".join({re.escape(json.dumps(key, ensure_ascii=ascii)) for ascii in (True, False)})
    pattern = re.compile(rf"(?:{forms})\s*:")
    lines = [number for number, line in read_lines(path) if pattern.search(line)]
    return lines[-1 if last else 0] if lines else None


def _parse(text: str, path: Path, line: int) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON at column {error.colno}: {error.msg}",
            file=path,
            line=line + error.lineno - 1,
            remedy=TRUNCATED,
        ) from None
    except KeyError:
        down, key = _twin(text)
        raise InputError(
            f"the key {key!r} appears twice in one object",
            file=path,
            line=line + down,
            remedy=TRUNCATED,
        ) from None
    except (ValueError, RecursionError) as error:  # endless digits, endless nesting
        raise InputError(
            f"not usable JSON: {error}", file=path, line=line, remedy=TRUNCATED
        ) from None
    _refuse_surrogates(text, value, path, line)
    return value


def _refuse_surrogates(text: str, value: Any, path: Path, line: int) -> None:
    r"""Half a character, such as "\ud800" alone, is valid JSON that no text file can hold."""
    if _SURROGATE.search(text) is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.start + 1]
        raise InputError(
            f"half a surrogate pair, {ascii(half)[1:-1]}",
            file=path,
            line=line + _line_of_half(text),
            remedy=TRUNCATED,
        ) from None


def _line_of_half(text: str) -> int:
    """How many lines down the first string stands that no text file can hold."""
    for token in _TOKEN.finditer(text):
        if token[1] and _SURROGATE.search(token[1]):
            try:
                json.loads(token[1]).encode()
            except UnicodeEncodeError:
                return text.count("\n", 0, token.start())
    return 0


_TOKEN = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")(\s*:)?|[{}\[\]]')


def _twin(text: str) -> tuple[int, str]:
    """The first key that its object already has, and how many lines down it stands."""
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
# Longer than what a decoder looks at beyond the place it names: a literal, an escape.
_MARGIN = 16


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise KeyError(key)
        result[key] = value
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)

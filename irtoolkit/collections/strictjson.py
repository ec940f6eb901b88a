"""JSON and JSON lines of a release, with the file and line of whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.errors import InputError
from irtoolkit.files import read_lines

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
        return json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON at column {error.colno}: {error.msg}",
            file=path,
            line=line + error.lineno - 1,
            remedy=TRUNCATED,
        ) from None
    except KeyError as error:
        raise InputError(
            f"the key {error.args[0]!r} stands twice in one object",
            file=path,
            line=line + _line_of_twin(text),
            remedy=TRUNCATED,
        ) from None
    except (ValueError, RecursionError) as error:  # endless digits, endless nesting
        raise InputError(
            f"not usable JSON: {error}", file=path, line=line, remedy=TRUNCATED
        ) from None


_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\]]')


def _line_of_twin(text: str) -> int:
    """How many lines down the first key stands that its object already has."""
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "{[":
            objects.append(set())
        elif token[0] in "}]":
            objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return text.count("\n", 0, token.start())
            objects[-1].add(key)
    return 0


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise KeyError(key)
        result[key] = value
    return result

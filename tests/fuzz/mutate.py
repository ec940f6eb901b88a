"""Inputs that are nearly valid: seeds, changed where it matters to the parser."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.target import Target

# Inputs grow no longer than this, as most faults need little.
_LONGEST = 4096
_COMMON = (
    b"", b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b"  ", b"\xef\xbb\xbf", b"\xff", b"\xc2\xa0", b"\xe2\x80\xa8",
    b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"-1", b"0", b"1e999", b"nan", b"9" * 30, b"\"", b"'", b"\\", b"{", b"}",
    b"[", b"]", b",", b":", b"=", b"#", b"%s", b"../", b"\\ud800", b"\x1b[31m", b"\x85", b"\x0b",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1.5, 1e300, 10**30, -(10**30), "", " ", "a b", "x", "0", "1", [], {}, [[]], [None],
    [1], [0, 1], {"a": 1}, [{}], "\ud800", "\x00", "\n", "a\tb", "\u2028", "é", "../x", "x" * 300,
)  # fmt: skip
_TOKEN = re.compile(rb"[\w.+-]+|[^\w\s]|\s+")


class Mutator:
    """Makes inputs for a target.

    Args:
        target: whose seeds and words are used.
        seed: the same seed makes the same inputs.
    """

    def __init__(self, target: Target, seed: int) -> None:
        self._target, self._draw = target, random.Random(seed)
        self._words = (*_COMMON, *target.words)

    def reseed(self, seed: int) -> None:
        """Goes on as a mutator of another seed would."""
        self._draw.seed(seed)

    def made(self) -> bytes:
        """Another input: a seed with a few changes."""
        data = self._draw.choice(self._target.seeds)
        for _ in range(self._draw.choice((1, 1, 1, 2, 2, 3, 5))):
            data = self.changed(data)
        return data

    def changed(self, data: bytes) -> bytes:
        """Some bytes with one change."""
        kinds: Sequence[Callable[[bytes], bytes]] = (
            self._token, self._token, self._token, self._lines, self._lines, self._bytes, self._spliced, self._json,
            self._json, self._repeated,
        )  # fmt: skip
        return self._draw.choice(kinds)(data)[:_LONGEST]

    def _place(self, data: bytes) -> int:
        return self._draw.randint(0, len(data))

    def _bytes(self, data: bytes) -> bytes:
        at, draw = self._place(data), self._draw
        kind = draw.randrange(4)
        if kind == 0:  # a flipped bit
            at = min(at, len(data) - 1)
            return data if at < 0 else data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]  # fmt: skip
        if kind == 1:
            return data[:at] + draw.randbytes(draw.randint(1, 4)) + data[at:]
        if kind == 2:
            return data[:at] + data[at + draw.randint(1, 8) :]
        return data[:at]  # cut short

    def _token(self, data: bytes) -> bytes:
        """A word or what separates words is another one, is gone, or has one beside it."""
        tokens = list(_TOKEN.finditer(data))
        word = self._draw.choice(self._words)
        if not tokens:
            return word
        token = self._draw.choice(tokens)
        if self._draw.random() < 0.2:
            word = self._draw.choice(tokens)[0]
        start, end = token.span()
        if self._draw.random() < 0.3:
            start = end
        return data[:start] + word + data[end:]

    def _lines(self, data: bytes) -> bytes:
        lines = data.split(b"\n")
        at, other = self._draw.randrange(len(lines)), self._draw.randrange(len(lines))
        kind = self._draw.randrange(4)
        if kind == 0:
            lines.insert(other, lines[at])
        elif kind == 1:
            del lines[at]
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines.insert(at, self._draw.choice(self._words))
        return b"\n".join(lines)

    def _spliced(self, data: bytes) -> bytes:
        other = self._draw.choice(self._target.seeds)
        return data[: self._place(data)] + other[self._place(other) :]

    def _repeated(self, data: bytes) -> bytes:
        """A piece many times, as deep nesting and long fields are made."""
        at = self._place(data)
        piece = data[at : at + self._draw.randint(1, 6)] or b"["
        return data[:at] + piece * self._draw.choice((2, 10, 300)) + data[at:]

    def _json(self, data: bytes) -> bytes:
        """Another value somewhere in the JSON that the input or one of its lines is."""
        lines = data.split(b"\n")
        at = self._draw.randrange(len(lines))
        for text, put in (
            (data, lambda new: new),
            (lines[at], lambda new: b"\n".join([*lines[:at], new, *lines[at + 1 :]])),
        ):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict | list):
                made = json.dumps(self._other(value), ensure_ascii=self._draw.random() < 0.5)
                return put(made.encode(errors="surrogatepass"))
        return self._token(data)

    def _other(self, value: Any) -> Any:
        """A value with one of those within it changed."""
        inside = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []  # fmt: skip
        if not inside or self._draw.random() < 0.25:
            return self._draw.choice(_VALUES)
        key = self._draw.choice(inside)
        kind = self._draw.random()
        made = dict(value) if isinstance(value, dict) else list(value)
        if kind < 0.1:
            del made[key]
        elif kind < 0.2 and isinstance(made, list):
            made.append(made[key])
        elif kind < 0.3 and isinstance(made, dict):
            made[str(self._draw.choice(_VALUES))[:40]] = made.pop(key)
        elif kind < 0.4:
            made[key] = value[self._draw.choice(inside)]
        else:
            made[key] = self._other(value[key])
        return made

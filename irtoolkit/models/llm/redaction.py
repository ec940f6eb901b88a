"""Redaction of API keys in servers' messages, which may repeat the key or parts of it."""

from __future__ import annotations

import re

SHOWN = "[API key]"
# A word of a message, and what stands in it for the characters that are left out.
_WORD = re.compile(r"[^\s\"'`,;:()<>{}\[\]=]+")
_LEFT_OUT = re.compile(r"\*+|•+|…|\.{3,}|[xX]{4,}")
# Characters in a row that are no coincidence.
_TELLING = 8


def without_key(text: str, key: str | None) -> str:
    """Returns a text without a key, and without words with parts of it, as `sk-ab****cd`."""
    if not key:
        return text
    return _WORD.sub(lambda word: _redacted(word[0], key), text.replace(key, SHOWN))


def _redacted(word: str, key: str) -> str:
    parts = _LEFT_OUT.split(word.rstrip(".!?"))
    first, last = parts[0], parts[-1]
    masked = len(parts) > 1 and (
        (len(first) > 1 and key.startswith(first)) or (len(last) > 1 and key.endswith(last))
    )
    ends = len(key) >= 2 * _TELLING and (key[:_TELLING] in word or key[-_TELLING:] in word)
    return SHOWN if masked or ends else word

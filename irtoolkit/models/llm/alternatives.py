"""The tokens that could have stood at a place of a completion, and how likely each was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

# What tokenizers and models put around a word.
_AROUND = " \t\r\n\"'`*_.,:;!()[]<>\u0120\u2581"


def is_word(token: str) -> bool:
    """Whether a token has a letter or a digit, and is no space, quote or asterisk before a word."""
    return any(character.isalnum() for character in token)


def alternatives_of(choice: Mapping[str, Any]) -> dict[str, float] | None:
    """Tokens with their log-probabilities at the place of a choice's first word.

    Args:
        choice: of an answer in OpenAI's chat completions protocol.

    Returns:
        None where the server gives no log-probabilities; empty where the choice has no word.
    """
    said = choice.get("logprobs")
    content = said.get("content") if isinstance(said, dict) else None
    if not isinstance(content, list):
        return None
    for place in content:
        token = place.get("token") if isinstance(place, dict) else None
        if isinstance(token, str) and is_word(token):
            others = place.get("top_logprobs")
            others = others if isinstance(others, list) else []
            return {found[0]: found[1] for found in map(_pair, [place, *others]) if found}
    return {}


def _pair(item: Any) -> tuple[str, float] | None:
    """A token and its log-probability, or None where there is none."""
    token, value = (item.get("token"), item.get("logprob")) if isinstance(item, dict) else (0, 0)
    if not isinstance(token, str) or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # JSON may spell half of a character outside the basic plane.
    token = token.encode("utf-8", "replace").decode()
    return (token, float(value)) if math.isfinite(value) else None


def log_odds(alternatives: Mapping[str, float], yes: str, no: str) -> float | None:
    """The logarithm of how much likelier one word is than another.

    Tokens count that are the word but for case, spaces and punctuation. A word that is not listed
    is taken to be as likely as the least likely token that is, which is the most that it can be.

    Args:
        alternatives: tokens with the natural logarithms of their probabilities.
        yes, no: the words.

    Returns:
        None where neither word is listed.
    """
    found = [_total(alternatives, word) for word in (yes, no)]
    if found == [None, None]:
        return None
    least = min(alternatives.values())
    of_yes, of_no = (least if value is None else value for value in found)
    return of_yes - of_no


def bare(token: str) -> str:
    """A token without case and what stands around a word."""
    return token.strip(_AROUND).casefold()


def _total(alternatives: Mapping[str, float], word: str) -> float | None:
    values = [value for token, value in alternatives.items() if bare(token) == bare(word)]
    return summed(values) if values else None


def summed(values: Iterable[float]) -> float:
    """The logarithm of the sum of probabilities that are given as logarithms."""
    listed = list(values)
    most = max(listed)
    return most + math.log(sum(math.exp(value - most) for value in listed))

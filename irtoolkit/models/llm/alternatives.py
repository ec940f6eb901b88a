"""The tokens that could have stood at a place of a completion, and how likely each was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What tokenizers and models put around a word.
_AROUND = " \t\r\n\"'`*_.,:;!()[]<>\u0120\u2581"


# Between these a model reasons.
THINK, THOUGHT = "<think>", "</think>"


def answer_place(tokens: Sequence[str], reasons: bool = False) -> int | None:
    """Returns the place of the first word of an answer, after the reasoning that precedes it.

    Args:
        tokens: those of a completion.
        reasons: whether the prompt has begun the reasoning.

    Returns:
        None if there is no word, or the reasoning does not end.
    """
    text = "".join(tokens)
    begin = text.rfind(THOUGHT) + len(THOUGHT) if THOUGHT in text else 0
    if not begin and (reasons or text.lstrip().startswith(THINK)):
        return None
    end = 0
    for place, token in enumerate(tokens):
        end += len(token)
        # A token may hold the end of the reasoning and a word.
        if is_word(text[max(begin, end - len(token)) : end]):
            return place
    return None


def is_word(token: str) -> bool:
    """Returns whether a token has a letter or a digit, unlike a space, quote or asterisk."""
    return any(character.isalnum() for character in token)


def alternatives_of(choice: Mapping[str, Any]) -> dict[str, float] | None:
    """Returns tokens with their log-probabilities at the position of a choice's first word.

    Args:
        choice: of an answer in OpenAI's chat completions protocol.

    Returns:
        None if the server gives no log-probabilities; empty if the choice has no word.
    """
    said = choice.get("logprobs")
    content = said.get("content") if isinstance(said, dict) else None
    if not isinstance(content, list):
        return None
    places = [place for place in content if isinstance(place, dict)]
    tokens = [place.get("token") for place in places]
    at = answer_place([token if isinstance(token, str) else "" for token in tokens])
    if at is None:
        return {}
    others = places[at].get("top_logprobs")
    others = others if isinstance(others, list) else []
    return {found[0]: found[1] for found in map(_pair, [places[at], *others]) if found}


def _pair(item: Any) -> tuple[str, float] | None:
    """Returns a token and its log-probability, or None if either is missing."""
    token, value = (item.get("token"), item.get("logprob")) if isinstance(item, dict) else (0, 0)
    if not isinstance(token, str) or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # JSON may spell half of a character outside the basic plane.
    token = token.encode("utf-8", "replace").decode()
    return (token, float(value)) if math.isfinite(value) else None


def log_odds(alternatives: Mapping[str, float], yes: str, no: str) -> float | None:
    """Returns the log odds of one word against another.

    Tokens that equal the word except for case, spaces and punctuation count. A word that is not
    listed is taken to be as likely as the least likely token that is, which is its upper bound.

    Args:
        alternatives: tokens with the natural logarithms of their probabilities.
        yes, no: the words.

    Returns:
        None if neither word is listed.
    """
    found = [_total(alternatives, word) for word in (yes, no)]
    if found == [None, None]:
        return None
    least = min(alternatives.values())
    of_yes, of_no = (least if value is None else value for value in found)
    return of_yes - of_no


def bare(token: str) -> str:
    """Returns a token in lower case without the characters around its word."""
    return token.strip(_AROUND).casefold()


def _total(alternatives: Mapping[str, float], word: str) -> float | None:
    values = [value for token, value in alternatives.items() if bare(token) == bare(word)]
    return summed(values) if values else None


def summed(values: Iterable[float]) -> float:
    """Returns the logarithm of the sum of probabilities given as logarithms."""
    listed = list(values)
    most = max(listed)
    return most + math.log(sum(math.exp(value - most) for value in listed))

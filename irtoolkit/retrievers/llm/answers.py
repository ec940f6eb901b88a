"""The answer in a language model's text, without reasoning, markup and statements about it."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from irtoolkit.base.jsons import load_json

_REASONING = "think|thinking|thought|reasoning"
_OPENS = re.compile(rf"\s*<(?:{_REASONING})>", re.IGNORECASE)
_CLOSES = re.compile(rf"</(?:{_REASONING})>", re.IGNORECASE)
# The parts of a text that are its answer: <answer>...</answer> and LaTeX's \boxed{...}.
_MARKED = re.compile(
    r"<answer>(.*?)(?:</answer>|\Z)|\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}",
    re.DOTALL | re.IGNORECASE,
)
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf)\s*\{([^{}]*)\}")
_MARKUP = re.compile(r"^\s*```.*$|[*`$]|^\s*[-\u2022]\s+(?=[^\W\d]|[\[(])", re.MULTILINE)
_BRACKETS = str.maketrans("\u3010\u3011\u3014\u3015\u300a\u300b\u3008\u3009", "[][]<><>")
_FINAL = re.compile(
    r"\b(?:final|overall)\s+(?:\w+\s+){0,2}?(?:answer|order|ranking|grade|score|rating|choice)\b"
    r"[^.\n]{0,20}?(?::|\bis\b)",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\s*\n\s*")
# The beginning of a sentence that takes back the one before it.
_RETRACTS = re.compile(
    r"\W*(?:no(?=[,.:!])|wait|actually|correction|sorry|hmm|rather|or|on second thou?ght)\b",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"answer|order|rank|grade|score|rating|relevan|choice|choose|chosen|result|output|permutation"
    r"|better|best|prefer|winner|select",
    re.IGNORECASE,
)


# Characters of an answer without reasoning that are read at most; no instruction asks for as many.
LONGEST = 8000
_REPEATED = re.compile(r"([^\w>])\1{3,}")


def final_text(text: str) -> str:
    """Returns the part of a model's text that is its answer, as plain text.

    Reasoning before `</think>` and markup are removed, characters are normalised (NFKC). What is
    within `<answer>` or `\\boxed{}`, or follows "final answer:", is the whole answer.

    Args:
        text: the completion.

    Returns:
        An empty text if the model only reasons, goes on for more than `LONGEST` characters, or has
        marked two different answers.
    """
    *reasoning, rest = _CLOSES.split(text)
    rest = _REPEATED.sub(r"\1\1\1", rest)
    if len(rest) > LONGEST or (not reasoning and _OPENS.match(rest)):
        return ""
    plain = html.unescape(unicodedata.normalize("NFKC", rest)).translate(_BRACKETS)
    marked = {(bold or bracketed).strip() for bold, bracketed in _MARKED.findall(plain)}
    if marked:
        plain = marked.pop() if len(marked) == 1 else ""
    plain = _MARKUP.sub("", _LATEX.sub(r"\1", plain)).strip()
    finals = list(_FINAL.finditer(plain))
    return plain[finals[-1].start() :] if finals else plain


def sentences(text: str) -> list[str]:
    """Returns the sentences and lines of an answer; none if a later one takes back another."""
    parts = [part for part in _SENTENCES.split(text) if part.strip()]
    return [] if any(_RETRACTS.match(part) for part in parts[1:]) else parts


def json_answers(text: str) -> list[Any] | None:
    """Returns the values of an answer in JSON: those of an object's keys that name an answer.

    Args:
        text: JSON, or a text with one JSON object in it.

    Returns:
        None if there is no JSON in the text.
    """
    inner = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, inner, inner.replace("'", '"')):  # some models write Python's quotes
        if not candidate.strip().startswith(("{", "[")):
            continue
        try:
            return _answers_in(load_json(candidate))
        except ValueError:
            continue
    return None


def _answers_in(value: Any) -> list[Any]:
    """Returns the values of an object that are its answer; of any other value itself."""
    if not isinstance(value, dict):
        return [value]
    matching = [item for key, item in value.items() if _KEYS.search(key)]
    values = matching or (list(value.values()) if len(value) == 1 else [])
    return [answer for item in values for answer in _answers_in(item)]

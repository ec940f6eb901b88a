"""The choice between two passages that a language model's answer makes."""

from __future__ import annotations

import re
from typing import Any, Literal

from irtoolkit.models.llm.generator import FILTERED, Completion
from irtoolkit.retrievers.llm.answers import final_text, json_answers, sentences

_KIND = r"(?:passage|document|doc|text|option|\u6bb5\u843d|\u6587\u6863|\u6587\u672c|\u9009\u9879)"
_LETTER = re.compile(
    rf"(?<![A-Za-z0-9_])(?:(?i:{_KIND})\W{{0,3}}(?P<named>[ABab])|(?P<bare>[ABab]))(?![A-Za-z0-9_'])"
)
# A passage that a text mentions; an article A is none.
_MENTION = re.compile(
    rf"(?<![A-Za-z0-9_])(?:(?i:{_KIND})\W{{0,3}}[ABab]\b|B\b|A\b(?!\s+(?!is\b|was\b|has\b|or\b|and\b)[a-z]))"
)
_NEGATION = (
    r"\b(?:not|no|never|neither|nor|none|less|least|worse|worst|irrelevant|off|wrong|incorrect|unlike|if"
    r"|unless|while|although|though|either|both|or|cannot|instead|rather|between|unrelated)\b|n't\b"
)
_NEGATED = re.compile(_NEGATION, re.IGNORECASE)
# What precedes a letter that is chosen: nothing, or the beginning of a sentence that chooses.
_LEADS = re.compile(
    r"^\W*$|(?:\b(?:is|be|choose|chose|pick|select|prefer|say|answer|choice|the|go with)"
    r"|[:,]|\u662f|\u4e3a|\u9009|\u9009\u62e9)[\s\[(\"'<]*$",
    re.IGNORECASE,
)
_OTHER = rf"(?:{_KIND}\W{{0,3}})?[AB]\b"
_CLOSED = r"[\])\"'>]*\s*"
_ENDS = re.compile(r"[\s.!,:;)\]\"'}>]*")
# What follows a letter that is chosen, other than the end of the sentence.
_REASONED = re.compile(
    rf"{_CLOSED}[,(:;\u2013\u2014-]?\s*(?:because|since|as|due to|over|rather than|instead of|not\s+{_OTHER}"
    r"|(?:(?:is|seems|looks|appears)(?: to be)?|would be)\s+(?:(?:clearly|much|far)\s+)?(?:the\s+)?"
    r"(?:(?:more|most)\s+(?:relevant|likely|useful|helpful|suitable|appropriate|related|pertinent)"
    r"|better|best|right|correct))\b(?!-)",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(rf"{_CLOSED}[:,.;(\u2013\u2014-]\s*(?P<reason>[^.,;\n]*)")
_GREATER = re.compile(rf"{_CLOSED}>\s*[\[(\"'<]*{_OTHER}", re.IGNORECASE)
_LABELLED = re.compile(r"\b([AB])[\])]?\s*[:=]")


def read_choice(answer: Completion) -> Literal["A", "B"] | None:
    """Returns the passage that an answer chooses; None if it chooses none, or more than one.

    A choice is a passage that stands alone, or with an explanation ("B", "Passage B: it ...",
    "the answer is B"), one that is called better ("Passage B is more relevant than Passage A"), or
    the value of a JSON object. A passage that is only mentioned or judged ("A: irrelevant") is none.
    """
    if answer.finish == FILTERED:
        return None
    chosen = _choices(final_text(answer.text))
    return None if len(chosen) != 1 else "A" if chosen == {"A"} else "B"


def _choices(text: str) -> set[str]:
    values = json_answers(text)
    if values is not None:
        return set().union(*(_of_value(value) for value in values))
    if {"A", "B"} <= set(_LABELLED.findall(text)):
        return set()  # each is judged
    parts = [part for sentence in sentences(text) for part in re.split(r"\bbut\b", sentence)]
    return set().union(*map(_chosen_in, parts))


def _of_value(value: Any) -> set[str]:
    """Returns the choices in a value of JSON; an unreadable value chooses both."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return (_choices(value) if isinstance(value, str) else set()) or {"A", "B"}


def _chosen_in(sentence: str) -> set[str]:
    """Returns the passages that a sentence chooses."""
    if sentence.rstrip().endswith("?"):
        return set()
    return {
        str(match["named"] or match["bare"]).upper()
        for match in _LETTER.finditer(sentence)
        if _leads(sentence[: match.start()]) and _follows(match, sentence[match.end() :])
    }


def _leads(lead: str) -> bool:
    """Whether a sentence that begins so goes on to a choice."""
    return bool(_LEADS.search(lead)) and not _MENTION.search(lead) and not _NEGATED.search(lead)


def _follows(match: re.Match[str], rest: str) -> bool:
    """Whether a letter is chosen by what follows it."""
    if _ENDS.fullmatch(rest):
        return True
    if match["bare"] in ("a", "b"):  # an article, or a letter of the text
        return False
    if _REASONED.match(rest) or _GREATER.match(rest):
        return True
    explained = _EXPLAINED.match(rest)
    if explained is None:
        return False
    reason = explained["reason"].strip()
    return not (_NEGATED.search(reason) or re.match(rf"(?:and\s+)?{_OTHER}|\d|and\b", reason))

"""The grade that a language model's answer gives to a document."""

from __future__ import annotations

import re
from typing import Any

from irtoolkit.models.llm.generator import LENGTH, Completion
from irtoolkit.retrievers.llm.answers import final_text, json_answers, sentences

_NUMBER = re.compile(r"(?<![\w.+~<>\u2264\u2265\u2212\u2013-])\d{1,9}(?:\.\d{1,9})?(?![\w%]|\.\d)")
_LABEL = re.compile(
    r"grade|score|rating|\brate\b|relevan|answer|result|\bgive\b|\bsay\b|assign|judg|\bmark\b|output"
    r"|choose|^\W*it (?:is|'s)\b|\u5206|\u7ea7",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"(?:\b(?:is|be|of|as|an?|say|give|gives|assign|at|it|to|grade|score|rating|relevance|answer)|[:=,])"
    r"[\s\[(\"'{]*$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\s\[(\"'{:,#]*")
_UNSURE = re.compile(
    r"\d|\b(?:not|no|never|than|least|most|about|around|under|over|below|above|or|between|if|neither"
    r"|maximum|minimum|highest|lowest)\b|n't\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[\s.!)\]\"'},;:]*")
# An explanation of the grade, which goes on with no other one.
_REASONED = re.compile(
    r"[)\]\"'}]*\s*(?:(?:[.,;:(\u2014]|[\u2013-](?!\d))(?!\s*(?:\d|(?:or|and|to|may|maybe|might|but|perhaps"
    r"|possibly|probably|if|at)\b))|(?:because|since|as|due to|for)\b)",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"[:=]\s*[\[(\"'{]*(-?\d[\d.]*)")


def read_grade(answer: Completion, most: int) -> float | None:
    """Returns the grade in an answer; None if it has none, more than one, or one that is too high.

    A grade is a number that stands alone or under a label ("3", "Grade: 3", "Score: 3/4", "3: it
    ...", "I give it a 3."), or the value of a JSON object. The scale may be repeated, if it is the
    one from 0 to `most`.

    Args:
        answer: the completion.
        most: the highest grade.
    """
    text = final_text(answer.text)
    grades = _grades(text, most)
    grade = grades.pop() if len(grades) == 1 else None
    if grade is None or grade > most:
        return None
    # "1" that is cut off may be the beginning of "10".
    cut = answer.finish == LENGTH and text[-1:].isdecimal() and 0 < 10 * grade <= most
    return None if cut else grade


def _grades(text: str, most: int) -> set[float | None]:
    """Returns the grades in a text, and None among them if another number is one perhaps."""
    values = json_answers(text)
    if values is not None:
        return set().union(*(_of_value(value, most) for value in values))
    scale = re.compile(
        rf"[(\[]?(?:\b(?:on|in|using) (?:a|the) )?(?:\b(?:scale|range) )?(?:\b(?:of|from) )?"
        rf"(?<![\d.-])0(?:, not at all,)?\s*(?:[-\u2013\u2014~]|\bto\b|\bthrough\b)\s*{most}(?![\d.]*\d)"
        r"(?:, perfectly)?[)\]]?",
        re.IGNORECASE,
    )
    plain = scale.sub(" ", text)
    grades: set[float | None] = set()
    for sentence in sentences(plain):
        grades |= _grades_in(sentence, most)
    others = {_number(match) for match in _LABELLED.findall(plain)}
    return grades | others if grades else set()


def _of_value(value: Any, most: int) -> set[float | None]:
    """Returns the grades in a value of JSON."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return _grades(value, most) or {None}
    number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return {float(value) if number else None}


def _grades_in(sentence: str, most: int) -> set[float | None]:
    """Returns the grades that a sentence gives."""
    if sentence.rstrip().endswith("?"):
        return set()
    scale = re.compile(
        rf"\s*(?:/|out of|of)\s*{most}(?:\.0)?(?![\w%]|\.\d)(?:\s*points?\b)?", re.IGNORECASE
    )
    grades: set[float | None] = set()
    for number in _NUMBER.finditer(sentence):
        rest = sentence[number.end() :]
        match = scale.match(rest) or re.match(r"\s*points?\b", rest)
        rest = rest[match.end() :] if match else rest
        if _leads(sentence[: number.start()]) and (_ENDS.fullmatch(rest) or _REASONED.match(rest)):
            grades.add(float(number[0]))
    return grades


def _leads(lead: str) -> bool:
    """Whether a sentence that begins so goes on to a grade."""
    if _ALONE.fullmatch(lead):
        return True
    return bool(_LABEL.search(lead) and _LEADS.search(lead)) and not _UNSURE.search(lead)


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("."))
    except ValueError:
        return None

"""Reads the order in which a language model puts some passages, and divides a list into windows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from irtoolkit.retrievers.llm.answers import final_text, json_answers

_KIND = (
    r"(?:passages?|documents?|docs?|texts?|items?|candidates?|identifiers?|ids?|[dp]"
    r"|\u6bb5\u843d|\u6587\u6863|\u6587\u672c|\u6587\u7ae0)"
)
# A passage that cannot be another number: "[3]", "(3)", "passage 3", "#3".
_NAMED = (
    rf"(?:\[+\s*(?:{_KIND}[\s:#._-]{{0,3}})?\d+\s*\]+|\(\s*(?:{_KIND}[\s:#._-]{{0,3}})?\d+\s*\)|<\d+>"
    rf"|\b{_KIND}(?:[\s#._-]{{0,3}}\[\d+\]|[\s:#._-]{{0,3}}\d+)|#\d+)"
)
_BARE = r"(?<![\w.-])\d+(?![\w%]|\.\d)"
_GREATER = r"\s*>\s*"
_SEPARATED = r"(?:\s*[,;|]\s*|\s+|(?<=\])(?=\[))"
# A chain with ">" may stand in a sentence; other lists are lines of their own.
_CHAIN = re.compile(rf"{_NAMED}{_GREATER}{_NAMED}(?:{_GREATER}{_NAMED})*", re.IGNORECASE)
_LIST = re.compile(
    rf"[\[(]?\s*(?:{_NAMED}(?:{_SEPARATED}{_NAMED})+|{_BARE}(?:\s*[>,;|]\s*{_BARE}|\s+{_BARE})+)"
    r"\s*[\])]?(?=[\s.>]*(?:\n|\Z))",
    re.IGNORECASE,
)
_ONLY = re.compile(rf"{_NAMED}[\s.>]*", re.IGNORECASE)
_RANKED = re.compile(
    rf"^\W*(?:rank\s*)?(\d+)\s*[.):]\s*({_NAMED})\s*(?:$|[-\u2013\u2014:(,.])",
    re.IGNORECASE | re.MULTILINE,
)
_SCORED = re.compile(
    rf"^\W*({_NAMED})\W+(?:relevance|score|rating|grade)(?: score)?\W+(\d+(?:\.\d+)?)\b",
    re.IGNORECASE | re.MULTILINE,
)
_ARROWS = re.compile(r"[-=]+>|>+=?|[\u2265\u227b\u226b\u00bb\u2192\u21d2\u27e9]")
_LESS = re.compile(
    r"[\])\d]\s*<\s*[\[(#\w]|\bleast\b[^.\n]{0,30}\b(?:first|to (?:the )?(?:most|best))\b"
    r"|\bascending|\bincreasing|\bworst (?:first|to)\b|\brevers",
    re.IGNORECASE,
)
# What precedes a chain in its sentence, and what precedes another list.
_LEADS = re.compile(
    r"(?:^|[:(\"']|\b(?:is|are|be|as|so|thus|hence|therefore|order|ranking|rank|ranked|answer|follows"
    r"|give|say|write|becomes?))\s*$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:^|[^\n]*\b(?:answer|order|ordering|ranking|rank|ranked|permutation|result|output|sorted)\b"
    r"[^\n]*(?::|\b(?:is|are|as))\s*)$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|wrong|incorrect|irrelevant|unranked)\b|(?<!to )\bleast\b|n't\b"
    r"|\b(?:original|initial|given|input|current)\s+(?:order|ranking|list|sequence)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\s*(?:is|was|would be|seems|looks)\s+(?:\w+\s+)?(?:not|wrong|incorrect|false)\b"
    r"|\s*(?:isn't|wasn't|wouldn't)\b|\s*\?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?,;]\s|(?<!:)\n")
_ID_KEY = re.compile(
    r"(?:passage|document|doc|text|item)?[_ ]?(?:id|index|number|identifier)?", re.IGNORECASE
)
_SCORE_KEY = re.compile(r"score|relevance|rating|grade", re.IGNORECASE)


class AnsweredOrder(NamedTuple):
    """An order of n passages.

    Attributes:
        places: each of 0 to n - 1 once, best first.
        reading: whether the answer was such an order ("whole"), an order after repair ("repaired"),
            or none at all ("none").
    """

    places: list[int]
    reading: Literal["whole", "repaired", "none"]


def read_order(text: str, count: int) -> AnsweredOrder:
    """Returns the order that an answer such as "[2] > [1] > [3]" gives to passages 1 to `count`.

    An order is a chain with ">", a list on lines of its own or under a label ("Order: 2, 1, 3"),
    ranked lines ("1. [2]") or JSON. If an answer has several, they have to agree. Of a number that
    occurs twice the first place counts, one that is no passage's is ignored, and passages that are
    not named follow in the order they had (RankGPT, Sun et al. 2023, §3).

    Args:
        text: the completion.
        count: number of passages, at least 1.
    """
    named = [number - 1 for number in _agreed(_orders(final_text(text)))]
    positions = list(dict.fromkeys(position for position in named if 0 <= position < count))
    rest = [position for position in range(count) if position not in set(positions)]
    # Numbers that begin with 0 are other passages'.
    if not positions or (-1 in named and count - 1 not in named):
        return AnsweredOrder(list(range(count)), "none")
    return AnsweredOrder(
        [*positions, *rest], "whole" if named == positions and not rest else "repaired"
    )


def windows(count: int, size: int, step: int) -> Iterator[slice]:
    """Windows over a list from its end to its beginning, each a step before the last.

    The best size - step of a window are in the next one, too. The last window begins at the top,
    whatever the length of the list.

    Args:
        count: length of the list.
        size: passages in a window, more than `step`.
        step: by how much a window is moved.
    """
    end = count
    while end > 1:
        start = max(0, end - size)
        yield slice(start, end)
        if start == 0:
            return
        end -= step


def _agreed(orders: list[list[int]]) -> list[int]:
    """Returns the longest of some orders if all others are parts of it; else none."""
    longest = max(orders, key=len, default=[])
    for order in orders:
        rest = iter(longest)
        if not all(number in rest for number in order):
            return []
    return longest


def _orders(text: str) -> list[list[int]]:
    """Returns all orders in an answer, as numbers of passages."""
    values = json_answers(text)
    if values is not None and not _ONLY.fullmatch(text):
        return [_of_value(value) for value in values]
    plain = _ARROWS.sub(">", text.replace('"', "").replace("'", ""))
    if _LESS.search(plain):
        return []
    if _ONLY.fullmatch(plain):
        return [_numbers(plain)]
    listed = [order for order in (_ranked_lines(plain), _scored_lines(plain)) if order is not None]
    return listed or [*_chains(plain), *_lists(plain)]


def _chains(text: str) -> Iterator[list[int]]:
    for match in _CHAIN.finditer(text):
        lead = _CLAUSE.split(text[: match.start()])[-1]
        rest = text[match.end() :]
        if not _LEADS.search(lead) or _NEGATED.search(lead) or _DENIED.match(rest):
            continue
        numbers = _numbers(match[0])
        # The last of a chain may equal what follows.
        yield numbers[:-1] if rest.lstrip().startswith("=") else numbers


def _lists(text: str) -> Iterator[list[int]]:
    for match in _LIST.finditer(text):
        before = text[: match.start()].rstrip(" \t")
        lead = _CLAUSE.split(before)[-1].strip()
        labelled = bool(lead) or not before.strip()
        if labelled and _LABEL.match(lead) and not _NEGATED.search(lead):
            yield _numbers(match[0])


def _ranked_lines(text: str) -> list[int] | None:
    """Returns the order of lines such as "1. [3]"; None if there are none."""
    lines = _RANKED.findall(text)
    if len(lines) < 2:
        return None
    ranks = [_number(rank) for rank, _ in lines]
    return (
        _numbers(" ".join(name for _, name in lines))
        if ranks == list(range(1, len(lines) + 1))
        else []
    )


def _scored_lines(text: str) -> list[int] | None:
    """Returns the order of lines such as "Doc: 3, Relevance: 9"; an empty one if scores increase."""
    lines = _SCORED.findall(text)
    if len(lines) < 2:
        return None
    scores = [float(score) for _, score in lines]
    falling = scores == sorted(scores, reverse=True)
    return _numbers(" ".join(name for name, _ in lines)) if falling else []


def _of_value(value: Any) -> list[int]:
    """Returns the order in a value of JSON; an empty one if it is no order."""
    if isinstance(value, str):
        return _agreed(_orders(value))
    if not isinstance(value, list):
        return []
    if len(value) == 1 and isinstance(value[0], list):
        return _of_value(value[0])
    numbers = [_id_of(item) for item in value]
    scores = [score for item in value if isinstance(item, dict) for score in _scores_of(item)]
    if None in numbers or scores != sorted(scores, reverse=True):
        return []
    return [number for number in numbers if number is not None]


def _id_of(item: Any) -> int | None:
    """Returns the number of a passage in a list of JSON."""
    if isinstance(item, dict):
        ids = [value for key, value in item.items() if key and _ID_KEY.fullmatch(key)]
        return _id_of(ids[0]) if len(ids) == 1 and not isinstance(ids[0], dict) else None
    if isinstance(item, str) and re.fullmatch(rf"{_NAMED}|\d+", item.strip(), re.IGNORECASE):
        return _numbers(item)[0]
    return item if isinstance(item, int) and not isinstance(item, bool) else None


def _scores_of(item: dict[str, Any]) -> list[float]:
    """Returns what a passage of a JSON list is said to be worth; a rank is worth less if greater."""
    scores = [(key, value) for key, value in item.items() if isinstance(value, int | float)]
    worth = [value for key, value in scores if _SCORE_KEY.search(key)]
    return (
        worth[:1] or [-value for key, value in scores if re.search("rank|position", key, re.I)][:1]
    )


def _numbers(text: str) -> list[int]:
    return [_number(digits) for digits in re.findall(r"\d+", text)]


def _number(digits: str) -> int:
    """Returns a passage's number; -1 of one that is too long to be any."""
    return int(digits) if len(digits) < 10 else -1

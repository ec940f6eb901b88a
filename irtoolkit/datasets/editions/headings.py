"""Headings of plain texts, by evidence: what ends like prose is prose, however it begins.

A heading is marked as one, or has a name and a number ("Chapter IV. The Oil"), or a number that
continues that of its neighbours, or is listed in a table of contents, or is set in capitals with
more space around it than paragraphs have.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from irtoolkit.datasets.editions.contents import contents_of, entry_key
from irtoolkit.datasets.editions.heading_forms import CHAPTER, PART, UNNUMBERED, Form, form_of
from irtoolkit.datasets.editions.lines import Paragraph

# A heading has so many characters of its lines together, and so many lines, at most.
_CHARACTERS, _LINES = 120, 3
# A title in a heading that ends as prose has so many words at most.
_TITLE_WORDS = 14
# From one number to the next at most: a scan has lost some.
_SKIPPED = 3
# Headings in capitals that are needed for capitals and space to be evidence.
_FEW = 3
# Characters of text between two of them, in the middle of all.
_LEAST_TEXT = 1500

_PROSE = re.compile(
    r"[.!?\u2026,;\u3002\uff01\uff1f\uff0c\uff1b\u3001\u0964:\uff1a][\"'\u201d\u2019\u00bb\u300d\u300f\u203a\u201c)\]\s]*$|[\"'\u201d\u2019\u300d\u300f]$"
)
# Pages at the end of an entry of an index; four digits may be a year.
_ENTRY = re.compile(r"[\s,](?:\d{1,3}|\d{1,3}[-\u2013]\d+|\d{1,3},? \d+)[,;.]?$")
_CLAUSES = re.compile("[\u3002\uff01\uff1f\uff0c\uff1b]")
_OF = re.compile(r"(?:to|by|of|zu|zur|zum|de|du|des|\u00e0|al|alla|till|\u043a)\b", re.I)
_THE_END = re.compile(
    r"\W*(?:the end|end|finis|fin|ende|fine|slut|\u043a\u043e\u043d\u0435\u0446|\u5168\u6587\u5b8c|\u5b8c)\b",
    re.I,
)


def levels_of(paragraphs: Sequence[Paragraph]) -> tuple[list[int | None], set[int]]:
    """Returns the level of each paragraph that is a heading, else None; and those of tables of contents."""
    forms = [_form(paragraph) for paragraph in paragraphs]
    numbered = [form is not None and form.value > 0 for form in forms]
    contents, titles = contents_of(paragraphs, numbered)
    neighbours = _neighbours(forms, contents)
    stray = _stray_numerals(paragraphs, forms, neighbours)
    spaced = _spaced_capitals(paragraphs, contents)
    levels: list[int | None] = []
    for number, (paragraph, form) in enumerate(zip(paragraphs, forms, strict=True)):
        after = bool(levels) and levels[-1] is not None and number - 1 not in contents
        listed = bool(titles) and entry_key(paragraph.text) in titles
        evidence = _Evidence(number in neighbours, listed, number in spaced, after)
        is_none = number in contents or (number in stray and not listed and not paragraph.level)
        levels.append(None if is_none else _level(paragraph, form, evidence))
    for number in _marked_parts(paragraphs):
        levels[number] = PART
    return levels, contents


def _marked_parts(paragraphs: Sequence[Paragraph]) -> list[int]:
    """Returns the headings that are marked, come more than once at their level, and have a lower one below."""
    marked = Counter(paragraph.level for paragraph in paragraphs if paragraph.level > 0)
    return [
        number
        for number, (paragraph, after) in enumerate(pairwise(paragraphs))
        if 0 < paragraph.level < after.level and (marked[paragraph.level] > 1 or len(marked) > 2)
    ]


class _Evidence(NamedTuple):
    """The remaining evidence for a heading.

    Attributes:
        in_sequence: its number continues that of its neighbours.
        is_listed: a table of contents has it.
        is_spaced: it is one of several in capitals with more space around them than paragraphs.
        follows_heading: a heading comes directly before it.
    """

    in_sequence: bool
    is_listed: bool
    is_spaced: bool
    follows_heading: bool


def _level(paragraph: Paragraph, form: Form | None, evidence: _Evidence) -> int | None:
    """Returns the level of a heading; None of prose."""
    text = paragraph.text
    if paragraph.level:
        marked = UNNUMBERED if form is None else form.level
        return marked if paragraph.level > 0 else None
    if _is_too_long(paragraph):
        return None
    if form is not None and _is_numbered_heading(text, form, evidence):
        return form.level
    if evidence.is_listed and not (_ends_as_prose(text) and not text.isupper()):
        level = UNNUMBERED if evidence.follows_heading else CHAPTER
        return level if form is None else form.level
    # A letter may begin in capitals, too: "MY DEAR MR PIP:--
    titled = len(text) > 1 and text.isupper() and text[0].isalpha() and text[-1] not in ":-\u2014,;"
    if titled and (evidence.follows_heading or evidence.is_spaced):
        return UNNUMBERED
    return None


def _is_numbered_heading(text: str, form: Form, evidence: _Evidence) -> bool:
    """Returns whether a text that begins as a heading is one."""
    rest = form.rest.strip()
    prose = _ends_as_prose(rest) and not text.isupper()
    if not form.value:  # "Preface", "Preface to the second edition"
        return not rest or text.isupper() or (not prose and (form.is_firm or bool(_OF.match(rest))))
    if not rest:
        return (
            bool(form.name)
            or evidence.in_sequence
            or evidence.is_listed
            or not text.strip(".").isdigit()
        )
    if not form.is_separate:  # "第一回甄士隐", but "第一回见到他，我就知道了"
        return evidence.in_sequence and not _CLAUSES.search(rest)
    if not form.name:
        titled = text.isupper() or (_is_title(rest) and not text[0].isdigit())
        return (
            form.is_firm and (evidence.in_sequence or evidence.is_listed) and (titled or not prose)
        )
    if prose:
        # "CHAPTER I. The oil."
        capitals = text.split()[0].isupper() and len(text.split()[0]) > 2
        firm = (
            form.is_firm
            and (capitals or evidence.in_sequence)
            and len(rest.split()) <= _TITLE_WORDS
        )
        return firm or (evidence.in_sequence and _is_title(rest))
    return form.is_firm or not rest[0].islower()


def _form(paragraph: Paragraph) -> Form | None:
    """Returns the form of a paragraph as a heading; None if it looks like prose."""
    if paragraph.level < 0 or (_is_too_long(paragraph) and not paragraph.level):
        return None
    return form_of("\n".join(paragraph.lines).lstrip("# ").rstrip("# "))


def _is_too_long(paragraph: Paragraph) -> bool:
    return len(paragraph.text) > _CHARACTERS or len(paragraph.lines) > _LINES


def _ends_as_prose(text: str) -> bool:
    return bool(text) and _PROSE.search(text) is not None


def _is_title(text: str) -> bool:
    """Returns whether most words of a text begin in capitals, as those of titles do."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    return (
        len(text.split()) <= _TITLE_WORDS
        and bool(words)
        and all(word[0].isupper() for word in words)
    )


def _neighbours(forms: Sequence[Form | None], contents: set[int]) -> set[int]:
    """Returns the forms whose number continues that of a neighbour with the same name."""
    named: dict[tuple[str, bool], list[tuple[int, int]]] = defaultdict(list)
    for number, form in enumerate(forms):
        if form is not None and form.value and number not in contents:
            named[form.name, form.is_separate].append((number, form.value))
    neighbours = set()
    for listed in named.values():
        for i, (number, value) in enumerate(listed):
            before = listed[i - 1][1] if i else None
            after = listed[i + 1][1] if i + 1 < len(listed) else None
            if before == value - 1 or after == value + 1:
                neighbours.add(number)
    return neighbours


def _stray_numerals(
    paragraphs: Sequence[Paragraph], forms: Sequence[Form | None], neighbours: set[int]
) -> set[int]:
    """Returns the lone numbers that continue no other, as the letters C, I and L of an index."""
    alone = [
        (number, form.value)
        for number, form in enumerate(forms)
        if form is not None and form.value and not form.name and not form.rest
    ]
    stray = set()
    for (_, before), (number, value), (_, after) in zip(
        [(0, 0), *alone], alone, [*alone[1:], (0, 0)], strict=False
    ):
        is_titled = number + 1 < len(paragraphs) and paragraphs[number + 1].text.isupper()
        is_near = is_titled or 0 < value - before <= _SKIPPED or 0 < after - value <= _SKIPPED
        if len(alone) > 1 and number not in neighbours and not is_near:
            stray.add(number)
    return stray


def _spaced_capitals(paragraphs: Sequence[Paragraph], contents: set[int]) -> set[int]:
    """Returns the paragraphs in capitals that have more space before them than others."""
    gaps = sorted(paragraph.gap for paragraph in paragraphs)
    usual = gaps[len(gaps) // 2] if gaps else 1
    spaced = {
        number
        for number, paragraph in enumerate(paragraphs)
        if number not in contents
        and paragraph.gap > max(1, usual)
        and paragraph.text.isupper()
        and len(paragraph.text) > 3
        and not _is_too_long(paragraph)
        and not _THE_END.match(paragraph.text)
        and paragraph.text[-1] not in "!?,;:"
        and not _ENTRY.search(paragraph.text)
    }
    distinct = Counter(paragraphs[number].text for number in spaced)
    if len(distinct) < _FEW:
        return set()
    begins = [0, *accumulate(len(paragraph.text) for paragraph in paragraphs)]
    sizes = [begins[after] - begins[number] for number, after in pairwise(sorted(spaced))]
    # Entries of an index or a list have capitals and space, too, but little text.
    return spaced if median(sizes) >= _LEAST_TEXT else set()

"""Headings of plain texts, by evidence: what ends as prose is prose, however it begins.

A heading is marked as one, or has a name and a number ("Chapter IV. The Oil"), or a number that goes on
from that of its neighbours, or is listed in a table of contents, or is set in capitals with more space
around it than paragraphs have.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from irtoolkit.base.languages import EAST
from irtoolkit.datasets.editions.contents import contents_of, entry_key
from irtoolkit.datasets.editions.numbers import CHINESE, number_of

# Levels of headings: of a book or part, of a chapter, of one without a number.
PART, CHAPTER, UNNUMBERED = 0, 1, 2
# A heading has so many characters of its lines together, and so many lines, at most.
_CHARACTERS, _LINES = 120, 3
# A title in a heading that ends as prose has so many words at most.
_TITLE_WORDS = 14
# Headings in capitals that are needed for capitals and space to be evidence.
_FEW = 3
# Characters of text between two of them, in the middle of all.
_LEAST_TEXT = 1500

_PARTS = [
    "book",
    "part",
    "volume",
    "vol",
    "buch",
    "teil",
    "theil",
    "band",
    "livre",
    "partie",
    "tome",
    "libro",
    "parte",
    "tomo",
    "livro",
    "boek",
    "deel",
    "bok",
    "del",
    "księga",
    "część",
    "tom",
    "книга",
    "часть",
    "том",
    "osa",
    "kirja",
]
_CHAPTERS = [
    "chapter",
    "chap",
    "stave",
    "letter",
    "canto",
    "act",
    "scene",
    "section",
    "kapitel",
    "capitel",
    "brief",
    "gesang",
    "akt",
    "aufzug",
    "auftritt",
    "szene",
    "chapitre",
    "lettre",
    "chant",
    "acte",
    "scène",
    "capítulo",
    "capitulo",
    "carta",
    "acto",
    "escena",
    "capitolo",
    "lettera",
    "atto",
    "scena",
    "hoofdstuk",
    "brev",
    "akt",
    "scen",
    "rozdział",
    "list",
    "глава",
    "письмо",
    "песнь",
    "действие",
    "явление",
    "luku",
    "adventure",
    "tale",
]
_LESSER = [
    "prologue",
    "epilogue",
    "preface",
    "introduction",
    "introductory",
    "conclusion",
    "foreword",
    "afterword",
    "appendix",
    "prelude",
    "prolog",
    "epilog",
    "vorwort",
    "vorrede",
    "einleitung",
    "nachwort",
    "schluß",
    "schluss",
    "anhang",
    "épilogue",
    "préface",
    "avant-propos",
    "avertissement",
    "prólogo",
    "epílogo",
    "prefacio",
    "introducción",
    "conclusión",
    "prélogo",
    "prologo",
    "epilogo",
    "prefazione",
    "introduzione",
    "conclusione",
    "förord",
    "inledning",
    "efterord",
    "voorwoord",
    "inleiding",
    "prefácio",
    "introdução",
    "przedmowa",
    "wstęp",
    "пролог",
    "эпилог",
    "предисловие",
    "введение",
    "заключение",
    "послесловие",
    "楔子",
    "序",
    "序章",
    "序言",
    "前言",
    "后记",
    "後記",
    "引子",
    "尾声",
    "尾聲",
    "終章",
    "あとがき",
    "まえがき",
]
_NAMES = "|".join(sorted(map(re.escape, [*_PARTS, *_CHAPTERS]), key=len, reverse=True))
_WORD = r"[^\W_]+(?:-[^\W_]+)?"
# "Chapter IV. The Oil", "Book the First"; "Zweites Kapitel", "The First Book", "2. Teil".
_NAMED = re.compile(
    rf"(?:the )?(?P<name>{_NAMES})\b\.?[ \n]+(?:the |der |la |le )?(?P<number>{_WORD})(?P<rest>.*)",
    re.I | re.S,
)
_NUMBERED = re.compile(
    rf"(?:the )?(?P<number>{_WORD})\.?[ \n]+(?P<name>{_NAMES})\b(?P<rest>.*)", re.I | re.S
)
_BARE = re.compile(r"(?P<number>[IVXLC]+|\d{1,3}|[A-Z]{3,12}(?:-[A-Z]{3,9})?)(?P<rest>.*)", re.S)
_EASTERN = (
    ("\u7b2c", re.compile(rf"\u7b2c\s*(?P<number>{CHINESE})\s*(?P<name>[\u56de\u7ae0\u8282\u7bc0\u7bc7\u8bdd\u8a71\u6298\u5e55\u5377\u90e8\u96c6\u7de8\u7f16\u518a])(?P<rest>.*)", re.S)),
    ("", re.compile(rf"(?P<number>{CHINESE})(?P<name>[\u56de\u7ae0\u8282\u7bc0\u7bc7\u5377])(?P<rest>.*)", re.S)),
    ("", re.compile(rf"(?P<name>\u5377)(?:\u4e4b|\u7b2c)?(?P<number>{CHINESE})(?P<rest>.*)", re.S)),
    ("\uc81c", re.compile(rf"\uc81c\s*(?P<number>{CHINESE})\s*(?P<name>[\uc7a5\ubd80\ud3b8\uad8c\ub9c9\ud654])(?P<rest>.*)", re.S)),
    ("\u0e1a", re.compile(r"(?P<name>\u0e1a\u0e17\u0e17\u0e35\u0e48|\u0e15\u0e2d\u0e19\u0e17\u0e35\u0e48|\u0e20\u0e32\u0e04\u0e17\u0e35\u0e48)\s*(?P<number>\d+)(?P<rest>.*)", re.S)),
)  # fmt: skip
_EASTERN_PARTS = (
    "\u5377\u90e8\u96c6\u7de8\u7f16\u518a\ubd80\uad8c\u0e20\u0e32\u0e04\u0e17\u0e35\u0e48"
)
_BARE_EAST = re.compile(rf"(?P<number>{CHINESE})[\u3001\uff0e.]?")
_SEPARATED = re.compile(r"\s*[.,:)\u2014\u2013|\uff1a\u3001-]+\s*|[ \t]*\n\s*|\s+")
_FIRM = re.compile(r"\s*[.:\u2014\u2013|\uff1a-]|[ \t]*\n")
_PROSE = re.compile(r"[.!?\u2026,;\u3002\uff01\uff1f\uff0c\uff1b\u3001\u0964:\uff1a][\"'\u201d\u2019\u00bb\u300d\u300f\u203a\u201c)\]\s]*$|[\"'\u201d\u2019\u300d\u300f]$")  # fmt: skip
_BETWEEN = re.compile(r"^[\s.,:)\u2014\u2013|\uff1a\u3001-]+")
_CLAUSES = re.compile("[\u3002\uff01\uff1f\uff0c\uff1b]")
_OF = re.compile(r"(?:to|by|of|zu|zur|zum|de|du|des|\u00e0|al|alla|till|\u043a)\b", re.I)
_THE_END = re.compile(
    r"\W*(?:the end|end|finis|fin|ende|fine|slut|\u043a\u043e\u043d\u0435\u0446|\u5168\u6587\u5b8c|\u5b8c)\b",
    re.I,
)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a text, before it is known whether it is a heading.

    Attributes:
        text: on one line.
        lines: as they are, without white space around them.
        line: the number of the first one.
        gap: blank lines before it.
        level: of a heading that is marked as one, from 1; 0 of other paragraphs, -1 of those that are
            marked as something else.
    """

    text: str
    lines: tuple[str, ...]
    line: int
    gap: int = 1
    level: int = 0


class _Form(NamedTuple):
    """What a paragraph looks like if it is a heading.

    Attributes:
        name: of what is numbered; empty of a bare number.
        level: `PART` or `CHAPTER`.
        value: its number; 0 of one without.
        rest: what follows the number.
        is_firm: whether a mark or a line end comes before that.
        is_separate: whether a mark or a space does.
    """

    name: str
    level: int
    value: int
    rest: str
    is_firm: bool = True
    is_separate: bool = True


def levels_of(paragraphs: Sequence[Paragraph]) -> tuple[list[int | None], set[int]]:
    """Returns the level of each paragraph that is a heading, else None; and those of tables of contents."""
    forms = [_form(paragraph) for paragraph in paragraphs]
    numbered = [form is not None and form.value > 0 for form in forms]
    contents, titles = contents_of(paragraphs, numbered)
    neighbours = _neighbours(forms, contents)
    spaced = _spaced_capitals(paragraphs, contents)
    levels: list[int | None] = []
    for number, (paragraph, form) in enumerate(zip(paragraphs, forms, strict=True)):
        after = bool(levels) and levels[-1] is not None and number - 1 not in contents
        listed = bool(titles) and entry_key(paragraph.text) in titles
        evidence = _Evidence(number in neighbours, listed, number in spaced, after)
        levels.append(None if number in contents else _level(paragraph, form, evidence))
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
    """What else speaks for a heading.

    Attributes:
        in_sequence: its number goes on from that of its neighbours.
        is_listed: a table of contents has it.
        is_spaced: it is one of several in capitals that have more space than paragraphs.
        follows_heading: a heading comes directly before it.
    """

    in_sequence: bool
    is_listed: bool
    is_spaced: bool
    follows_heading: bool


def _level(paragraph: Paragraph, form: _Form | None, evidence: _Evidence) -> int | None:
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
    titled = text.isupper() and text[0].isalpha() and text[-1] not in ":-\u2014,;"
    if titled and (evidence.follows_heading or evidence.is_spaced):
        return UNNUMBERED
    return None


def _is_numbered_heading(text: str, form: _Form, evidence: _Evidence) -> bool:
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


def _form(paragraph: Paragraph) -> _Form | None:
    """Returns what a paragraph looks like if it is a heading; None of what looks like prose."""
    if paragraph.level < 0 or (_is_too_long(paragraph) and not paragraph.level):
        return None
    text = "\n".join(paragraph.lines).lstrip("# ").rstrip("# ")
    if not text:
        return None
    if text[0].islower() and not EAST.match(text[0]):
        return None
    return _eastern_form(text) or _western_form(text) or _lesser_form(text)


def _western_form(text: str) -> _Form | None:
    for pattern in (_NAMED, _NUMBERED, _BARE):
        match = pattern.match(text)
        if match is None:
            continue
        value = number_of(match["number"])
        if (
            value is None
            or not value
            or match["number"].lower() in ("a", "an", "un", "une", "ein", "eine", "di", "mi")
        ):
            continue
        name = match["name"].lower() if pattern is not _BARE else ""
        rest = match["rest"]
        if not name and rest and not _FIRM.match(rest):
            continue
        if rest and not _SEPARATED.match(rest):
            continue
        level = PART if name in _PARTS else CHAPTER
        return _Form(name, level, value, _bare(rest), not rest or bool(_FIRM.match(rest)))
    return None


def _eastern_form(text: str) -> _Form | None:
    for prefix, pattern in _EASTERN:
        match = pattern.match(text)
        value = number_of(match["number"]) if match else None
        if match is None or value is None:
            continue
        rest = match["rest"]
        separate = not rest or bool(_SEPARATED.match(rest))
        if not prefix and not separate:
            return None
        level = PART if match["name"] in _EASTERN_PARTS else CHAPTER
        firm = not rest or bool(_FIRM.match(rest))
        # A space in Chinese is as much as a mark.
        return _Form(match["name"], level, value, _bare(rest), firm, separate)
    match = _BARE_EAST.fullmatch(text)
    value = number_of(match["number"]) if match and EAST.match(text) else None
    return _Form("", CHAPTER, value, "") if value else None


def _lesser_form(text: str) -> _Form | None:
    low = text.lower()
    for name in _LESSER:
        if low.startswith(name):
            rest = text[len(name) :]
            if not rest or not rest[0].isalnum():
                return _Form(name, CHAPTER, 0, _bare(rest), not rest or bool(_FIRM.match(rest)))
    return None


def _bare(rest: str) -> str:
    """Returns what follows the number of a heading, without the marks between."""
    return " ".join(_BETWEEN.sub("", rest).split())


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


def _neighbours(forms: Sequence[_Form | None], contents: set[int]) -> set[int]:
    """Returns the forms whose number goes on from that of the one before or after, of the same name."""
    named: dict[tuple[str, bool], list[tuple[int, int]]] = defaultdict(list)
    for number, form in enumerate(forms):
        if form is not None and form.value and number not in contents:
            named[form.name, form.is_separate].append((number, form.value))
    found = set()
    for listed in named.values():
        for place, (number, value) in enumerate(listed):
            before = listed[place - 1][1] if place else None
            after = listed[place + 1][1] if place + 1 < len(listed) else None
            if before == value - 1 or after == value + 1:
                found.add(number)
    return found


def _spaced_capitals(paragraphs: Sequence[Paragraph], contents: set[int]) -> set[int]:
    """Returns the paragraphs in capitals that have more space before them than others."""
    gaps = sorted(paragraph.gap for paragraph in paragraphs)
    usual = gaps[len(gaps) // 2] if gaps else 1
    found = {
        number
        for number, paragraph in enumerate(paragraphs)
        if number not in contents
        and paragraph.gap > max(1, usual)
        and paragraph.text.isupper()
        and len(paragraph.text) > 3
        and not _is_too_long(paragraph)
        and not _THE_END.match(paragraph.text)
        and paragraph.text[-1] not in "!?,;:"
    }
    distinct = Counter(paragraphs[number].text for number in found)
    if len(distinct) < _FEW:
        return set()
    begins = [0, *accumulate(len(paragraph.text) for paragraph in paragraphs)]
    sizes = [begins[after] - begins[number] for number, after in pairwise(sorted(found))]
    # Entries of an index or a list have capitals and space, too, but little text.
    return found if median(sizes) >= _LEAST_TEXT else set()

"""Forms of headings: name and number, number alone, or name ("Preface"), in many languages."""

from __future__ import annotations

import re
from typing import NamedTuple

from irtoolkit.base.languages import EAST
from irtoolkit.datasets.editions import words
from irtoolkit.datasets.editions.numbers import CHINESE, number_of

# Levels of headings: of a book or part, of a chapter, of one without a number.
PART, CHAPTER, UNNUMBERED = 0, 1, 2


_PARTS = words(
    "book part volume vol buch teil theil band livre partie tome libro parte tomo livro boek deel"
    " bok del księga część tom книга часть том osa kirja"
)
_CHAPTERS = words(
    "chapter chap stave letter canto act scene section kapitel capitel brief gesang akt aufzug"
    " auftritt szene chapitre lettre chant acte scène capítulo capitulo carta acto escena"
    " capitolo lettera atto scena hoofdstuk brev akt scen rozdział list глава письмо песнь"
    " действие явление luku adventure tale"
)
_LESSER = words(
    "prologue epilogue preface introduction introductory conclusion foreword afterword appendix"
    " prelude prolog epilog vorwort vorrede einleitung nachwort schluß schluss anhang épilogue"
    " préface avant-propos avertissement prólogo epílogo prefacio introducción conclusión prélogo"
    " prologo epilogo prefazione introduzione conclusione förord inledning efterord voorwoord"
    " inleiding prefácio introdução przedmowa wstęp пролог эпилог предисловие введение заключение"
    " послесловие index bibliography glossary 楔子 序 序章 序言 前言 后记 後記 引子 尾声 尾聲 終章 あとがき まえがき"
)
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
    (
        "\u7b2c",
        re.compile(
            rf"\u7b2c\s*(?P<number>{CHINESE})\s*(?P<name>[\u56de\u7ae0\u8282\u7bc0\u7bc7\u8bdd\u8a71\u6298\u5e55\u5377\u90e8\u96c6\u7de8\u7f16\u518a])(?P<rest>.*)",
            re.S,
        ),
    ),
    (
        "",
        re.compile(
            rf"(?P<number>{CHINESE})(?P<name>[\u56de\u7ae0\u8282\u7bc0\u7bc7\u5377])(?P<rest>.*)",
            re.S,
        ),
    ),
    ("", re.compile(rf"(?P<name>\u5377)(?:\u4e4b|\u7b2c)?(?P<number>{CHINESE})(?P<rest>.*)", re.S)),
    (
        "\uc81c",
        re.compile(
            rf"\uc81c\s*(?P<number>{CHINESE})\s*(?P<name>[\uc7a5\ubd80\ud3b8\uad8c\ub9c9\ud654])(?P<rest>.*)",
            re.S,
        ),
    ),
    (
        "\u0e1a",
        re.compile(
            r"(?P<name>\u0e1a\u0e17\u0e17\u0e35\u0e48|\u0e15\u0e2d\u0e19\u0e17\u0e35\u0e48|\u0e20\u0e32\u0e04\u0e17\u0e35\u0e48)\s*(?P<number>\d+)(?P<rest>.*)",
            re.S,
        ),
    ),
)
_EASTERN_PARTS = (
    "\u5377\u90e8\u96c6\u7de8\u7f16\u518a\ubd80\uad8c\u0e20\u0e32\u0e04\u0e17\u0e35\u0e48"
)
_BARE_EAST = re.compile(rf"(?P<number>{CHINESE})[\u3001\uff0e.]?")
_SEPARATED = re.compile(r"\s*[.,:)\u2014\u2013|\uff1a\u3001-]+\s*|[ \t]*\n\s*|\s+")
_FIRM = re.compile(r"\s*[.:\u2014\u2013|\uff1a-]|[ \t]*\n")
_BETWEEN = re.compile(r"^[\s.,:)\u2014\u2013|\uff1a\u3001-]+")
# The largest number without a name: "MIX" is a word.
_LARGEST = 399
# Words that are numbers and articles.
_ARTICLES = frozenset(["a", "an", "un", "une", "ein", "eine", "di", "mi"])


class Form(NamedTuple):
    """The form of a paragraph if it is a heading.

    Attributes:
        name: the name before the number; empty for a bare number.
        level: `PART` or `CHAPTER`.
        value: its number; 0 without one.
        rest: the text after the number.
        is_firm: whether a mark or a line end comes before the rest.
        is_separate: whether a mark or a space does.
    """

    name: str
    level: int
    value: int
    rest: str
    is_firm: bool = True
    is_separate: bool = True


def form_of(text: str) -> Form | None:
    """Returns the form of a text as a heading; None if it looks like prose.

    Args:
        text: its lines, divided by line ends.
    """
    if not text or (text[0].islower() and not EAST.match(text[0])):
        return None
    return _eastern_form(text) or _western_form(text) or _lesser_form(text)


def _western_form(text: str) -> Form | None:
    for pattern in (_NAMED, _NUMBERED, _BARE):
        match = pattern.match(text)
        if match is None:
            continue
        value = number_of(match["number"])
        if value is None or not value or match["number"].lower() in _ARTICLES:
            continue
        name = match["name"].lower() if pattern is not _BARE else ""
        if not name and value > _LARGEST:
            continue
        rest = match["rest"]
        if not name and rest and not _FIRM.match(rest):
            continue
        if rest and not _SEPARATED.match(rest):
            continue
        level = PART if name in _PARTS else CHAPTER
        return Form(name, level, value, _bare(rest), not rest or bool(_FIRM.match(rest)))
    return None


def _eastern_form(text: str) -> Form | None:
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
        return Form(match["name"], level, value, _bare(rest), firm, separate)
    match = _BARE_EAST.fullmatch(text)
    value = number_of(match["number"]) if match and EAST.match(text) else None
    return Form("", CHAPTER, value, "") if value else None


def _lesser_form(text: str) -> Form | None:
    low = text.lower()
    for name in _LESSER:
        if low.startswith(name):
            rest = text[len(name) :]
            if not rest or not rest[0].isalnum():
                return Form(name, CHAPTER, 0, _bare(rest), not rest or bool(_FIRM.match(rest)))
    return None


def _bare(rest: str) -> str:
    """Returns the text after the number of a heading, without the marks between."""
    return " ".join(_BETWEEN.sub("", rest).split())

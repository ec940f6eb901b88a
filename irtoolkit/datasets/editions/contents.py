"""Tables of contents: which paragraphs they are, and which titles they list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from irtoolkit.datasets.editions.lines import Paragraph

_NAME = re.compile(
    r"[#*\s]*(?:table of )?contents\.?:?|inhalt(?:sverzeichnis|s\u00fcbersicht)?\.?|table des mati\u00e8res\.?"
    r"|(?:\u00edndice|indice|sommaire|inneh\u00e5ll|inhoud|spis tre\u015bci|\u0441\u043e\u0434\u0435\u0440\u0436\u0430\u043d\u0438\u0435|\u043e\u0433\u043b\u0430\u0432\u043b\u0435\u043d\u0438\u0435)\.?"
    r"|\u76ee\s*[\u5f55\u9304\u6b21]|\ucc28\ub840|\u0e2a\u0e32\u0e23\u0e1a\u0e31\u0e0d",
    re.I,
)
# The number of a page after dots or spaces.
_PAGE = re.compile(
    r"(?:[ .\u2026\u00b7_\t]*[.\u2026\u00b7_\t]|\s{1,99})\s*(?:\d{1,4}|[ivxlc]{1,7})\.?$"
)
# Characters of an entry on one line at most, and of a line of prose at least.
_ENTRY, _WRAPPED = 110, 50
# The number of headings without text between them that make a table.
_FEW = 3
_PROSE = re.compile(
    r"[!?;,\u3002\uff01\uff1f\uff0c][\"'\u201d\u2019\u00bb\u300d]*$|[a-z\u00df-\u00ff\u0430-\u044f][.][\"'\u201d\u2019]*$"
)


def entry_key(text: str) -> str:
    """Returns the common key of an entry and its heading: letters and digits, no page number."""
    return re.sub(r"\W+", "", _PAGE.sub("", text.strip())).casefold()


def contents_of(
    paragraphs: Sequence[Paragraph], numbered: Sequence[bool]
) -> tuple[set[int], set[str]]:
    """Returns the paragraphs of tables of contents, and the keys of the titles that they list.

    Args:
        paragraphs: of a text, in order.
        numbered: whether each looks like a heading with a number.
    """
    entries: set[int] = set()
    titles: set[str] = set()
    number = 0
    while number < len(paragraphs):
        if _NAME.fullmatch(paragraphs[number].text):
            last = _end_of_entries(paragraphs, numbered, number + 1)
        elif _is_name_and_entries(paragraphs[number]) or _is_list(paragraphs[number]):
            last = number + 1
        else:
            last = _end_of_run(paragraphs, numbered, number)
        for i in range(number, last):
            entries.add(i)
            titles.update(map(entry_key, paragraphs[i].lines))
            titles.add(entry_key(paragraphs[i].text))
        number = max(last, number + 1)
    return entries, {title for title in titles if len(title) > 2}


def _end_of_entries(paragraphs: Sequence[Paragraph], numbered: Sequence[bool], first: int) -> int:
    """Returns the index after the last entry below the name of a table of contents.

    The table ends before prose, and before its entries occur again.
    """
    titles: list[str] = []
    for number in range(first, len(paragraphs)):
        lines = paragraphs[number].lines
        keys = [entry_key(line) for line in lines] + [entry_key(paragraphs[number].text)]
        is_marked = paragraphs[number].level > 0 and keys[0] in titles
        again = is_marked or any(title.startswith(keys[0]) for title in titles if len(keys[0]) > 4)
        if again or _is_prose(lines):
            last = _without_next(paragraphs, first, number)
            return _without_part(paragraphs, numbered, first, last)
        titles += keys
    return first  # a table that nothing follows is none


def _without_next(paragraphs: Sequence[Paragraph], first: int, last: int) -> int:
    """Returns the end of a table without the headings of the text that follows it.

    If some entries have page numbers, it is after the last of these; otherwise before the first
    entry that has much more space above it than the others.
    """
    paged = [n for n in range(first, last) if _PAGE.search(paragraphs[n].lines[-1])]
    if len(paged) > 1:
        return paged[-1] + 1
    widest = max((paragraphs[n].gap for n in range(first, min(first + 2, last))), default=1)
    for number in range(first + 2, last):
        if paragraphs[number].gap > max(2, widest):
            return number
        widest = max(widest, paragraphs[number].gap)
    return last


# The number of an entry without a name, and any text that follows it without a space.
_NUMERAL = re.compile(r"^(?:[ivxlc]+|\d+)\b.*")


def _without_part(
    paragraphs: Sequence[Paragraph], numbered: Sequence[bool], first: int, last: int
) -> int:
    """Returns the end of a table without other headings than its entries, as "BOOK I"."""
    names = [
        _NUMERAL.sub("1", paragraph.text.split()[0].casefold())
        for paragraph in paragraphs[first:last]
    ]
    while (
        last > first + 1
        and numbered[last - 1]
        and names[last - first - 1] not in names[: last - first - 1]
    ):
        last -= 1
    return last


def _is_prose(lines: Sequence[str]) -> bool:
    """Returns whether a paragraph is prose: wrapped lines, or a single line that ends as prose does."""
    if _PAGE.search(lines[-1]):
        return False
    if any(len(line) > _ENTRY for line in lines):
        return True
    if len(lines) > 2:
        return sum(len(line) > _WRAPPED for line in lines) >= len(lines) - 1
    return _PROSE.search(lines[-1]) is not None


def _is_name_and_entries(paragraph: Paragraph) -> bool:
    return len(paragraph.lines) > 2 and _NAME.fullmatch(paragraph.lines[0]) is not None


def _is_list(paragraph: Paragraph) -> bool:
    """Returns whether the lines of a paragraph are headings with numbers, most with that of a page."""
    lines = paragraph.lines
    if len(lines) < _FEW:
        return False
    named = sum(1 for line in lines if _LINE.match(line))
    return named > 2 and named > len(lines) // 2


_LINE = re.compile(
    r"(?:chapter|book|part|letter|act|scene|kapitel|buch|teil|chapitre|livre|partie|cap\u00edtulo|capitolo|\u0433\u043b\u0430\u0432\u0430)\s+[\divxlc]+\b"
    r"|[IVXLC]+\s*[.:\u2014-]|\u7b2c\S{1,5}[\u56de\u7ae0\u8282\u7bc0\u5377\u90e8]",
    re.I,
)


def _end_of_run(paragraphs: Sequence[Paragraph], numbered: Sequence[bool], first: int) -> int:
    """Returns one past the last of at least `_FEW` headings in a row that come again later; else `first`."""
    last = first
    while last < len(paragraphs) and numbered[last] and len(paragraphs[last].lines) == 1:
        last += 1
    if last - first < _FEW:
        return first
    keys = {entry_key(paragraph.text) for paragraph in paragraphs[first:last]}
    again = {entry_key(paragraph.text) for paragraph in paragraphs[last:]}
    begins = tuple(key for key in again if len(key) > 3)
    common = sum(key in again or key.startswith(begins) for key in keys) if begins else 0
    return last if 2 * common >= len(keys) else first

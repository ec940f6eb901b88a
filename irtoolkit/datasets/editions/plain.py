"""Plain text and Markdown as editions: bytes to headings, paragraphs and notes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from irtoolkit.datasets.editions.columns import in_one_column
from irtoolkit.datasets.editions.edges import edges_of
from irtoolkit.datasets.editions.edition import Block, Edition, count_characters, decoded
from irtoolkit.datasets.editions.headings import levels_of
from irtoolkit.datasets.editions.lines import (
    HYPHEN,
    Dropped,
    Joiner,
    Line,
    Paragraph,
    joiner_of,
    numbered,
    written_out,
)
from irtoolkit.datasets.editions.markdown import without_markdown
from irtoolkit.datasets.editions.notes import Notes
from irtoolkit.datasets.editions.pages import BREAK, PAGE_NUMBER, Pages, without_inline
from irtoolkit.datasets.editions.publishers import FIELD, NOTE, NOTE_NAMES, is_field

# Captions, notes within a paragraph, control characters and soft hyphens within a line.
DROPPED = re.compile(
    r"\[Illustration[^\[\]]*(?:\[(?!Illustration)[^\[\]]*){0,50}\]"
    rf"|\[(?:{NOTE_NAMES})\b[^\[\]]{{0,2000}}+\]"
    r"|[\x00-\x08\x0e-\x1b\x1f\x7f\ufeff\u200b\u2060]|\u00ad(?![ \t]*(?:\n|\Z))",
    re.I,
)
_ITALIC = re.compile(r"(?<!\w)_([^_\n]+(?:\n[^_\n]+)?)_(?!\w)")
# A longer line is a whole paragraph: the text is not wrapped.
_WRAPPED = 120
# A heading of Markdown.
_MARKED = re.compile(r"(#{1,6})(?:\s|$)")
_RULE = frozenset("-*=_~#\u2022\u00b7.\u2014\u2013+|\u2042 ")
# The end of a line in a word, which no blank line ends.
_DIVIDES = ("\u00ad", "\u00ac")
_DONE = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb\u300d)\]]*$")


def read_plain(data: bytes, markdown: bool = False) -> Edition:
    """Reads the bytes of a plain-text or Markdown file.

    Args:
        data: the bytes.
        markdown: whether marks of emphasis, links and underlined headings are taken for Markdown's.

    Raises:
        InputError: they are not text.
    """
    text, encoding = decoded(data)
    text = written_out(text.replace("\r\n", "\n").replace("\r", "\n"))
    rows = text.split("\n")
    edges = edges_of(f"{row}\n" for row in rows)
    dropped: list[Dropped] = []
    lines: list[Line] = []
    position = 0
    for cut in edges.cuts:
        lines += numbered(rows[position : cut.first - 1], position + 1)
        lines.append(Line(cut.first, ""))
        dropped.append(Dropped(cut.reason, cut.first, "\n".join(rows[cut.first - 1 : cut.last])))
        position = cut.last
    lines += numbered(rows[position:], position + 1)
    if markdown:
        lines = without_markdown(lines, dropped)
    lines = _without_fields(cleared_lines(lines, dropped), dropped)
    lines = list(in_one_column(_without_pages(lines, dropped)))
    paragraphs = list(_paragraphs(lines, dropped))
    return Edition(
        blocks_of(paragraphs, dropped),
        encoding,
        edges.title,
        edges.author,
        edges.lang,
        dropped,
        count_characters(text),
    )


def cleared(text: str) -> str:
    """Returns a text without captions of pictures, control characters, and marks of italics."""
    return _ITALIC.sub(r"\1", DROPPED.sub("", text))


def cleared_lines(lines: Sequence[Line], dropped: list[Dropped]) -> list[Line]:
    """Returns lines without captions, control characters and marks of italics; as many lines."""
    body = "\n".join(line.text for line in lines)
    if not (DROPPED.search(body) or "_" in body):
        return list(lines)
    begins = [0, *accumulate(len(line.text) + 1 for line in lines)]

    def caption(match: re.Match[str]) -> str:
        number = lines[bisect_right(begins, match.start()) - 1].number
        dropped.append(Dropped(_reason(match[0]), number, match[0]))
        # The line ends stay, so that the numbers of lines do.
        return "\n" * match[0].count("\n")

    cut = DROPPED.sub(caption, body)
    if "_" in cut:
        marks = len(cut)
        cut = _ITALIC.sub(r"\1", cut)
        if marks > len(cut):
            dropped.append(Dropped("marks of italics", 0, "_" * (marks - len(cut))))
    texts = cut.split("\n")
    return [line._replace(text=text) for line, text in zip(lines, texts, strict=True)]


def _reason(piece: str) -> str:
    """Returns the kind of a piece that `DROPPED` matches."""
    if piece[0] != "[":
        return "control character"
    return "caption of a picture" if piece[:13].lower() == "[illustration" else NOTE


def _without_fields(lines: list[Line], dropped: list[Dropped]) -> list[Line]:
    """Returns lines without those at the beginning that name title and author."""
    inside = False
    for i, (number, text, _) in enumerate(lines):
        if not text.strip() or text == BREAK or _is_rule(text):
            continue
        after = lines[i + 1].text if i + 1 < len(lines) else ""
        if not (is_field(text, after) or (inside and FIELD.fullmatch(text.strip()))):
            return lines
        inside = True
        dropped.append(Dropped("title and author", number, text))
        lines[i] = Line(number, "")
    return lines


def _without_pages(lines: list[Line], dropped: list[Dropped]) -> list[Line]:
    """Returns lines with page numbers and running heads replaced by breaks."""
    pages = Pages.of(line.text for line in lines)
    text_lines: list[Line] = []
    for number, line in enumerate(lines, 1):
        reason = pages.reason(number, line.text) if line.text != BREAK else ""
        if reason:
            dropped.append(Dropped(reason, line.number, line.text))
            text_lines.append(Line(line.number, BREAK))
            continue
        text, marks = without_inline(line.text)
        dropped += [Dropped(PAGE_NUMBER, line.number, mark) for mark in marks]
        text_lines.append(line._replace(text=text))
    return text_lines


def _paragraphs(lines: list[Line], dropped: list[Dropped]) -> Iterator[Paragraph]:
    """Yields the paragraphs of lines; a page break does not split a paragraph."""
    joiner = joiner_of(lines)
    pending: list[Line] = []
    gap = blank = 0
    broken = False
    for line in lines:
        bare = line.text.strip()
        if not bare:
            blank += line.text != BREAK
            broken = broken or line.text == BREAK
            continue
        if _is_rule(bare):
            dropped.append(Dropped("rule", line.number, line.text))
            blank += 1
            continue
        goes_on = bool(pending) and not _begins(pending, line, blank, broken)
        if pending and not goes_on:
            yield _paragraph(pending, gap, joiner, dropped)
            pending, gap = [], blank
        elif not pending:
            gap = blank
        pending.append(line)
        blank, broken = 0, False
    if pending:
        yield _paragraph(pending, gap, joiner, dropped)


def _begins(pending: Sequence[Line], line: Line, blank: int, broken: bool) -> bool:
    """Returns whether a line begins a paragraph."""
    before, text = pending[-1].text, line.text
    if before.rstrip().endswith(_DIVIDES) and text.lstrip()[:1].islower():
        return False
    if broken:
        # A page ended: the paragraph goes on if neither its end nor a blank line and a capital say otherwise.
        goes_on = text.lstrip()[:1].islower() or not blank
        return _DONE.search(before.rstrip()) is not None or not goes_on
    if blank:
        return True
    return (
        len(before) > _WRAPPED
        or len(text) > _WRAPPED
        or text.startswith(("\u3000", "#"))
        or before.startswith("#")
        or pending[-1].level > 0
    )


def _paragraph(
    pending: Sequence[Line], gap: int, joiner: Joiner, dropped: list[Dropped]
) -> Paragraph:
    first = pending[0].number
    joiner.drop = lambda mark: dropped.append(Dropped(HYPHEN, first, mark))
    texts = tuple(line.text.strip() for line in pending)
    match = _MARKED.match(texts[0])
    hashes = len(match[1]) if match else pending[0].level
    if match:
        bare = texts[0].strip("# ")
        lost = texts[0].count("#") - bare.count("#")
        dropped.append(Dropped("mark of a heading", first, "#" * lost))
        texts = (bare or "", *texts[1:])
    return Paragraph(" ".join(joiner.join(texts).split()), texts, first, gap, hashes)


def _is_rule(text: str) -> bool:
    return _RULE.issuperset(text.strip()) and not _DOTS.fullmatch(text.strip())


_DOTS = re.compile(r"[.\u2026 ]+")


def blocks_of(
    paragraphs: Sequence[Paragraph], dropped: list[Dropped], apart: frozenset[int] = frozenset()
) -> list[Block]:
    """Returns headings, paragraphs and notes; tables of contents are dropped.

    Args:
        paragraphs: in order.
        dropped: gets the dropped pieces.
        apart: those that are marked as notes.
    """
    notes = Notes(paragraphs, apart)
    texts = [
        paragraph for number, paragraph in enumerate(paragraphs) if number not in notes.numbers
    ]
    levels, contents = levels_of(texts)
    position, blocks = -1, []
    for number, paragraph in enumerate(paragraphs):
        if number in notes.numbers:
            blocks.append(Block(paragraph.text, None, paragraph.line, is_note=True))
            continue
        position += 1
        if position in contents:
            dropped.append(Dropped("table of contents", paragraph.line, paragraph.text))
            continue
        text, marks = notes.without_marks(paragraph.text)
        dropped += [Dropped("mark of a note", paragraph.line, mark) for mark in marks]
        if text:
            blocks.append(Block(text, levels[position], paragraph.line))
    return blocks

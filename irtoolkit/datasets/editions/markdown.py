"""Markdown as plain text: marks of emphasis, links and comments are dropped, underlined headings are marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from irtoolkit.datasets.editions.lines import Dropped, Line

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*")
_TAGS = "em|i|b|u|s|strong|sup|sub|small|span|div|p|a|center|font|blockquote|img|hr|cite|q|h[1-6]"
_LINE_BREAK = re.compile(r"<br\s*/?>", re.I)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,30});", re.I)
# The first group of each is text; the rest of the match is dropped.
_INLINE = (
    ("picture", re.compile(r"!\[([^\]\n]{0,500})\]\([^)\n]{0,2000}\)")),
    ("address of a link", re.compile(r"(?<!!)\[([^\]\n]{1,500})\]\([^)\n]{0,2000}\)")),
    (
        "marks of emphasis",
        re.compile(r"(?<![*\d\\])\*{1,3}(?=\S)([^*\n]{1,2000}?)(?<=\S)\*{1,3}(?![*\d])"),
    ),
    ("marks of emphasis", re.compile(r"(?<!\w)__(?=\S)([^_\n]{1,2000}?)(?<=\S)__(?!\w)")),
    ("escape", re.compile(r"\\([\\`*_{}\[\]()#+\-.!>])")),
    ("tag", re.compile(rf"</?(?:{_TAGS})\b[^<>\n]{{0,300}}>()", re.I)),
    ("mark of a quotation", re.compile(r"^\s{0,3}(?:>\s?)+()")),
)


def without_markdown(lines: Sequence[Line], dropped: list[Dropped]) -> list[Line]:
    """Returns the lines of Markdown as those of plain text; as many lines."""
    lines = _without_comments(lines, dropped)
    plain_lines: list[Line] = []
    for line in lines:
        text = line.text
        if plain_lines and text.strip() and _UNDERLINE.fullmatch(text) and _is_title(plain_lines):
            plain_lines[-1] = plain_lines[-1]._replace(level=1 if "=" in text else 2)
            dropped.append(Dropped("mark of a heading", line.number, text))
            plain_lines.append(Line(line.number, ""))
            continue
        plain_lines.append(Line(line.number, _without_inline(text, line.number, dropped)))
    return plain_lines


def _is_title(lines: Sequence[Line]) -> bool:
    """Returns whether the last line may be underlined: it is text after a blank line."""
    last = lines[-1].text.strip()
    blank = len(lines) < 2 or not lines[-2].text.strip()
    return bool(last) and not last.startswith("#") and blank and len(last) < 120


def _without_comments(lines: Sequence[Line], dropped: list[Dropped]) -> Sequence[Line]:
    body = "\n".join(line.text for line in lines)
    if "<!--" not in body:
        return lines

    def drop(match: re.Match[str]) -> str:
        number = lines[body.count("\n", 0, match.start())].number
        dropped.append(Dropped("comment", number, match[0]))
        return "\n" * match[0].count("\n")

    texts = _COMMENT.sub(drop, body).split("\n")
    return [Line(line.number, text) for line, text in zip(lines, texts, strict=True)]


def _without_inline(text: str, number: int, dropped: list[Dropped]) -> str:
    if not any(mark in text for mark in "*_[\\>&"):
        return text

    def write_out(match: re.Match[str]) -> str:
        plain = unescape(match[0])
        if plain != match[0]:
            dropped.append(Dropped("entity", number, match[0][len(plain.strip()) :]))
        return plain

    def break_line(match: re.Match[str]) -> str:
        dropped.append(Dropped("tag", number, match[0]))
        return " "

    text = _LINE_BREAK.sub(break_line, text)
    for reason, pattern in _INLINE:

        def drop(match: re.Match[str], reason: str = reason) -> str:
            begin, end = match.start(1) - match.start(), match.end(1) - match.start()
            inner = "" if reason == "picture" else match[1]
            gone = match[0] if reason == "picture" else match[0][:begin] + match[0][end:]
            dropped.append(Dropped(reason, number, gone))
            return inner

        text = pattern.sub(drop, text)
    return _ENTITY.sub(write_out, text)

"""Show how a book is read: its chapters and sentences, and what is dropped, with lines and reasons.

FILE is plain text, Markdown, EPUB, HTML or TEI. Each character of the file that is no white space is in a
sentence, a heading, a note or a dropped piece; the first table says how many. The second one has what was
dropped, by reason: headers, footers and licences of publishers, transcribers' notes, tables of contents,
page numbers, running heads, hyphens at line ends, scripts of web pages. --dropped lists each piece with its
line, --chapters the chapters.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from irtoolkit.base.tables import TextTable
from irtoolkit.base.textwidth import printable, shorten
from irtoolkit.commands import add_format, argument, print_json

if TYPE_CHECKING:
    from irtoolkit.base.tables import TableCell, TextTable
    from irtoolkit.datasets.book_accounts import BookAccount

HELP = "show how a book is read, and what is dropped of it"
EXAMPLES = ("irtoolkit book emma.txt", "irtoolkit book emma.txt shirley.txt --dropped --chapters")
# Characters of a dropped piece that are shown.
_SHOWN = 60


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("FILE...", "a book", dest="files")
    add("--dropped", "list each piece that was dropped, with its line")
    add("--chapters", "list the chapters")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.book_accounts import read_account

    accounts = {str(path): read_account(path) for path in args.files}
    if args.format == "json":
        print_json({name: _record(account) for name, account in accounts.items()})
        return
    tables = [_summary(accounts), _by_reason(accounts)]
    tables += [_chapters(name, account) for name, account in accounts.items() if args.chapters]
    tables += [_dropped(name, account) for name, account in accounts.items() if args.dropped]
    print("\n\n".join(table.render(args.format) for table in tables if table.rows))


def _summary(accounts: dict[str, BookAccount]) -> TextTable:
    headers = [
        "file",
        "language",
        "chapters",
        "sentences",
        "characters",
        "in sentences",
        "in headings",
        "in notes",
        "dropped",
    ]
    rows: list[list[TableCell]] = [
        [
            name,
            account.novel.lang,
            len(account.novel.chapters),
            len(account.novel.sentences),
            account.characters,
            account.in_sentences,
            account.in_headings,
            account.in_notes,
            account.in_dropped,
        ]
        for name, account in accounts.items()
    ]
    return TextTable(headers, rows, notes=["Characters without white space."])


def _by_reason(accounts: dict[str, BookAccount]) -> TextTable:
    rows: list[list[TableCell]] = [
        [name, reason, pieces, characters, _lines(account, reason)]
        for name, account in accounts.items()
        for reason, (pieces, characters) in account.reasons.items()
    ]
    return TextTable(["file", "dropped", "pieces", "characters", "lines"], rows)


def _lines(account: BookAccount, reason: str) -> str:
    """Returns the lines of the first pieces that were dropped for a reason."""
    lines = [str(piece.line) for piece in account.dropped if piece.reason == reason and piece.line]
    return ", ".join(lines[:5]) + (", ..." if len(lines) > 5 else "")


def _chapters(name: str, account: BookAccount) -> TextTable:
    rows: list[list[TableCell]] = [
        [chapter.start, printable(chapter.title)] for chapter in account.novel.chapters
    ]
    return TextTable(["first sentence", "chapter"], rows, title=name)


def _dropped(name: str, account: BookAccount) -> TextTable:
    rows: list[list[TableCell]] = [
        [
            f"{piece.part}:{piece.line}" if piece.part else piece.line,
            piece.reason,
            shorten(printable(" ".join(piece.text.split())), _SHOWN),
        ]
        for piece in account.dropped
    ]
    return TextTable(["line", "dropped", "text"], rows, title=name)


def _record(account: BookAccount) -> dict[str, Any]:
    novel = account.novel
    return {
        "title": novel.title,
        "author": novel.author,
        "lang": novel.lang,
        "encoding": novel.encoding,
        "sentences": len(novel.sentences),
        "paragraphs": len(novel.paragraphs),
        "chapters": [{"title": c.title, "start": c.start} for c in novel.chapters],
        "characters": {
            "file": account.characters,
            "sentences": account.in_sentences,
            "headings": account.in_headings,
            "notes": account.in_notes,
            "dropped": account.in_dropped,
        },
        "notes": [{"line": note.line, "text": note.text} for note in account.edition.notes],
        "dropped": [piece._asdict() for piece in account.dropped],
    }

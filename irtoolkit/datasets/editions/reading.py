"""Reading of editions in any form: plain text, Markdown, HTML, EPUB and TEI, recognised by their content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.paths import StrPath, on_disk
from irtoolkit.datasets.editions.edges import edges_of
from irtoolkit.datasets.editions.edition import Edition
from irtoolkit.datasets.editions.epub import ALL_BYTES, parse_epub
from irtoolkit.datasets.editions.html import page_title, parse_html
from irtoolkit.datasets.editions.lines import HYPHEN, Dropped, Joiner, Line, Paragraph
from irtoolkit.datasets.editions.markup import Piece, Pieces
from irtoolkit.datasets.editions.plain import blocks_of, cleared_lines, read_plain
from irtoolkit.datasets.editions.tei import parse_tei

# The ends of the names of books.
MARKDOWN = (".md", ".markdown")
SUFFIXES = (".txt", *MARKDOWN, ".epub", ".html", ".htm", ".xhtml", ".xml", ".tei")
FORMS = "plain text (.txt), Markdown (.md), EPUB (.epub), HTML (.html) or TEI (.xml)"


def read_edition_file(path: StrPath) -> Edition:
    """Reads the edition in a file.

    Raises:
        InputError: no such file; or see `read_edition`. It names the file.
    """
    local_path = on_disk(path)
    try:
        return read_edition(local_path.read_bytes(), local_path.name)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=path) from None
    except InputError as error:
        raise InputError(error.found, file=path, line=error.line, remedy=error.remedy) from None


def read_edition(data: bytes, name: str, most: int = ALL_BYTES) -> Edition:
    """Reads the bytes of a book.

    Args:
        data: plain text, Markdown, HTML, an EPUB, or TEI.
        name: the name of its file, whose suffix distinguishes Markdown from plain text.
        most: bytes of the documents of an EPUB together.

    Raises:
        InputError: they are no book of these forms, damaged, protected, or beyond the bounds of `epub`.
    """
    form = form_of(data, name)
    if form == "epub":
        return _edition(*parse_epub(data, most))
    if form == "tei":
        return _edition(*parse_tei(data))
    if form == "html":
        edition = _edition(parse_html(data), Edition(()))
        return replace(edition, title=edition.title or page_title(edition.dropped))
    return read_plain(data, Path(name).suffix.lower() in MARKDOWN)


def form_of(data: bytes, name: str = "") -> str:
    """Returns the form of a book by how it begins: "epub", "html", "tei" or "text".

    Args:
        data: its bytes.
        name: the name of its file, whose suffix marks a fragment of HTML.
    """
    if data.startswith(b"PK\x03\x04") and b"application/epub+zip" in data[:200]:
        return "epub"
    if data.startswith(b"PK\x03\x04") and b"META-INF/container.xml" in data[-(1 << 16) :]:
        return "epub"
    start = data[:4096].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    if start.startswith((b"<?xml", b"<tei", b"<!--", b"<!doctype")):
        return "html" if b"<html" in start or b"<!doctype html" in start else "tei"
    is_web = Path(name).suffix.lower() in (".html", ".htm", ".xhtml")
    return "html" if is_web and start.startswith(b"<") else "text"


def _edition(pieces: Pieces, metadata: Edition) -> Edition:
    """Returns the edition of the pieces of a document, with its known fields."""
    dropped = list(pieces.dropped)
    text_pieces = _without_publishers(pieces.pieces, dropped)
    paragraphs = [_paragraph(piece, dropped) for piece in text_pieces]
    notes = frozenset(number for number, piece in enumerate(text_pieces) if piece.is_note)
    blocks = [block for block in blocks_of(paragraphs, dropped, notes) if block.text]
    edges = edges_of(f"{line}\n" for piece in pieces.pieces[:60] for line in piece.text.split("\n"))
    return replace(
        metadata,
        blocks=blocks,
        dropped=dropped,
        characters=pieces.characters,
        title=metadata.title or edges.title,
        author=metadata.author or edges.author,
        lang=metadata.lang or edges.lang,
    )


def _without_publishers(pieces: Sequence[Piece], dropped: list[Dropped]) -> list[Piece]:
    """Returns the pieces that no publisher has put around the text."""
    lines: list[str] = []
    owners: list[int] = []
    for number, piece in enumerate(pieces):
        piece_lines = [*piece.text.split("\n"), ""]
        lines += [f"{line}\n" for line in piece_lines]
        owners += [number] * len(piece_lines)
    gone: dict[int, str] = {}
    for cut in edges_of(lines).cuts:
        for line in range(cut.first - 1, min(cut.last, len(lines))):
            if lines[line].strip():
                gone[owners[line]] = cut.reason
    dropped += [
        Dropped(reason, pieces[n].line, pieces[n].text, pieces[n].part)
        for n, reason in gone.items()
    ]
    return [piece for number, piece in enumerate(pieces) if number not in gone]


def _paragraph(piece: Piece, dropped: list[Dropped]) -> Paragraph:
    rows = [Line(piece.line, line) for line in piece.text.split("\n")]
    lines = [line.text.strip() for line in cleared_lines(rows, dropped)]
    texts = tuple(line for line in lines if line) or ("",)
    joiner = Joiner(drop=lambda mark: dropped.append(Dropped(HYPHEN, piece.line, mark)))
    text = " ".join(joiner.join(texts).split())
    return Paragraph(text, texts, piece.line, 1, piece.level)

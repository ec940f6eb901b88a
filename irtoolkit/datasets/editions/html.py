"""HTML and XHTML as text: paragraphs, headings and notes; scripts, styles and navigation are dropped."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from html.entities import html5
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.editions import words
from irtoolkit.datasets.editions.lines import Dropped
from irtoolkit.datasets.editions.markup import (
    BLOCK,
    BREAK,
    INLINE,
    NOTE,
    Pieces,
    Role,
    parse_xml,
    read_tree,
    tag_of,
)
from irtoolkit.datasets.editions.note_links import linked_notes
from irtoolkit.datasets.encodings import encoding_of, fits

# Why the title of a page is dropped; titles that name no book; what a publisher puts around one.
_PAGE_TITLE = "title of the page"
_UNNAMED = re.compile(r"(?:(?:untitled|new|unknown|no|title|document|page|index)\W*)*\d*", re.I)
_GUTENBERG = re.compile(
    r"(?:The )?Project Gutenberg(?:['\u2019]s)? (?:e-?(?:book|text) of )?(.+?)(?:, by .+)?", re.I
)
_SITE = re.compile(r"\s[|\u2013\u2014-]\s(?:Project Gutenberg|Wikisource\b.*)$", re.I)
_HEADINGS = {f"h{level}": Role("heading", level=level) for level in range(1, 7)}
_BLOCKS = frozenset(
    words(
        "html body p div section article main header footer blockquote pre ul ol li dl dt dd"
        " table tr td th tbody thead caption figure address center hr hgroup details summary"
        " fieldset aside"
    )
)
_DROPPED = {
    "script": "script",
    "style": "style",
    "noscript": "script",
    "template": "script",
    "title": _PAGE_TITLE,
    "nav": "navigation",
    "svg": "picture",
    "math": "formula",
    "object": "embedded object",
    "iframe": "embedded object",
    "embed": "embedded object",
    "audio": "embedded object",
    "video": "embedded object",
    "canvas": "picture",
    "form": "form",
    "button": "form",
    "select": "form",
    "textarea": "form",
    "rt": "reading of characters",
    "rp": "reading of characters",
    "figcaption": "caption of a picture",
    "del": "deleted text",
}
_NOTE_TYPES = frozenset(
    words(
        "footnote endnote rearnote footnotes endnotes rearnotes doc-footnote doc-endnote"
        " doc-endnotes"
    )
)
_NOTE_CLASS = re.compile(r"^(?:foot-?notes?|end-?notes?|fnote|fn-?text)$", re.I)
_MARK_CLASS = re.compile(r"^(?:fnanchor|note-?ref|foot-?note-?ref|fnref|superscript-note)$", re.I)
_PAGE_CLASS = re.compile(r"^(?:page-?num(?:ber)?|page-?no|page-?break|folio)$", re.I)
_PUBLISHER = re.compile(
    r"^(?:pg-?(?:header|footer|boilerplate)|pgheader|ws-noexport|pgfooter)$", re.I
)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w-]{2,40})""", re.I)
_BYTE_ORDER = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DECLARATION = re.compile(r"^\ufeff?\s*<\?xml[^>]{0,500}\?>")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,30});")
_XML = frozenset(["amp", "lt", "gt", "quot", "apos"])
_EMPTY = re.compile(r"<(script|title|style|a|div|span|p|i|b|em|strong|td|sup)\b([^<>]*?)/>", re.I)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_CONTENTS = re.compile(r"^(?:toc|contents|table-of-contents)$", re.I)


def parse_html(data: bytes, part: str = "") -> Pieces:
    """Reads the bytes of an HTML or XHTML document.

    Raises:
        InputError: it is empty, or not HTML.
    """
    from lxml import etree

    text = _decoded(data)
    root = _xhtml(text)
    if root is None:
        # The bounds of `huge_tree=False` end a tree without an error; these are wider, and checked.
        parser = etree.HTMLParser(no_network=True, huge_tree=True, recover=True)
        try:
            # Elements that XHTML leaves empty are closed as in HTML.
            root = etree.fromstring(_EMPTY.sub(r"<\1\2></\1>", text), parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise InputError(f"not HTML: {error}", remedy="save it as plain text, UTF-8") from None
        if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
            raise InputError(
                "HTML whose elements are nested too deep", remedy="save it as plain text, UTF-8"
            )
    if root is None:
        raise InputError("an HTML document without content", remedy="remove the file, or fill it")
    notes = linked_notes(root)
    return read_tree(root, lambda element: notes.get(element) or role_of(element), part)


def page_title(dropped: Iterable[Dropped]) -> str:
    """Returns the title of a book in the <title> of its page; empty if that names none.

    Args:
        dropped: the dropped pieces of the page.
    """
    titles = (" ".join(piece.text.split()) for piece in dropped if piece.reason == _PAGE_TITLE)
    title = _SITE.sub("", next(titles, ""))
    by_gutenberg = _GUTENBERG.fullmatch(title)
    title = by_gutenberg[1] if by_gutenberg else title
    return "" if _UNNAMED.fullmatch(title) else title


def _decoded(data: bytes) -> str:
    """Returns the text of a document, without a declaration of its encoding."""
    match = _CHARSET.search(data[:2048])
    name = match[1].decode("ascii", "replace") if match else ""
    try:
        codec = codecs.lookup(name).name if name else ""
    except LookupError:
        codec = ""
    if data.startswith(_BYTE_ORDER) or not codec or not fits(codec, data):
        encoding = encoding_of(lambda: iter([data]), any_kind=True)
        codec, errors = encoding.codec, encoding.errors
    else:
        errors = "strict"
    return _DECLARATION.sub("", data.decode(codec, errors), count=1)


def _xhtml(text: str) -> Any:
    """Returns the tree of well-formed XHTML; None of other HTML."""
    from lxml import etree

    if "http://www.w3.org/1999/xhtml" not in text[:4096]:
        return None
    plain = _ENTITY.sub(lambda m: html5.get(f"{m[1]};", m[0]) if m[1] not in _XML else m[0], text)
    if any(match[1] not in _XML for match in _ENTITY.finditer(plain)):
        return None
    try:
        return parse_xml(plain)
    except (etree.XMLSyntaxError, ValueError):
        return None


def role_of(element: Any) -> Role:
    """Returns what an element of HTML is."""
    tag = tag_of(element).lower()
    declared = _declared_role(element)
    if declared is not None:
        return declared
    if tag in _DROPPED:
        return Role("drop", _DROPPED[tag])
    if tag in _HEADINGS:
        return _HEADINGS[tag]
    if tag == "br":
        return BREAK
    if tag == "sup" and _is_mark(element):
        return Role("drop", "mark of a note")
    return BLOCK if tag in _BLOCKS else INLINE


def _declared_role(element: Any) -> Role | None:
    """Returns the role that an element's attributes give it; None if they give none."""
    attributes = element.attrib
    if not attributes:
        return None
    types = f"{attributes.get('epub:type', '')} {attributes.get('role', '')} {attributes.get(_EPUB_TYPE, '')}".split()
    classes = attributes.get("class", "").split()
    name = attributes.get("id", "")
    if "noteref" in types or "doc-noteref" in types or any(map(_MARK_CLASS.match, classes)):
        return Role("drop", "mark of a note")
    if _NOTE_TYPES.intersection(types) or any(map(_NOTE_CLASS.match, classes)):
        return NOTE
    if {"pagebreak", "doc-pagebreak"}.intersection(types) or any(map(_PAGE_CLASS.match, classes)):
        return Role("drop", "page number")
    if any(map(_PUBLISHER.match, (*classes, name))):
        return Role("drop", "publisher's text")
    listed = {"toc", "doc-toc"}.intersection(types) or any(map(_CONTENTS.match, (*classes, name)))
    if listed and element.tag not in _HEADINGS and element.tag != "body":
        return Role("drop", "table of contents")
    if "hidden" in attributes or _HIDDEN.search(attributes.get("style", "")):
        return Role("drop", "hidden text")
    return None


_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"


def _is_mark(element: Any) -> bool:
    """Returns whether a superscript is a link to a note."""
    links = element.findall(".//{*}a") or [element.getparent()]
    return (
        any(tag_of(link).lower() == "a" and "#" in link.get("href", "") for link in links)
        and len("".join(element.itertext()).strip()) <= 5
    )

"""EPUB books: the documents of the spine, in order, within bounds.

Nothing is unpacked to disk: members are read by the names that the package lists, and only as many bytes as
a book has.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.editions.edition import Edition
from irtoolkit.datasets.editions.html import parse_html
from irtoolkit.datasets.editions.lines import Dropped
from irtoolkit.datasets.editions.markup import Pieces, parse_xml, text_of

# Members of an EPUB, documents of its spine, and bytes of one document and of all, at most.
_MEMBERS, _DOCUMENTS, _BYTES, ALL_BYTES = 20_000, 5_000, 32_000_000, 100_000_000
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
# Algorithms that hide fonts, which are not read.
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_HTML = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_REMEDY = "export it again as EPUB, or as plain text"


def parse_epub(data: bytes, most: int = ALL_BYTES) -> tuple[Pieces, Edition]:
    """Returns the text of an EPUB, and an edition of the fields of its package.

    Args:
        data: its bytes.
        most: bytes of all its documents together.

    Raises:
        InputError: no EPUB, a damaged or protected one, or one beyond the bounds.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _parsed(_Members(archive, most))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise InputError(f"a damaged EPUB: {error}", remedy=_REMEDY) from None


class _Members:
    """The members of an archive, read within bounds."""

    def __init__(self, archive: zipfile.ZipFile, most: int) -> None:
        if len(archive.infolist()) > _MEMBERS:
            raise InputError(f"an EPUB with more than {_MEMBERS:,} members", remedy=_REMEDY)
        self._archive, self._most, self._remaining = archive, most, most
        self.names = set(archive.namelist())

    def read(self, name: str) -> bytes:
        """Returns the bytes of a member."""
        if name not in self.names:
            raise InputError(f"an EPUB without its member {name}", remedy=_REMEDY)
        most = min(_BYTES, self._remaining)
        with self._archive.open(name) as member:
            content = member.read(most + 1)
        if len(content) > most:
            raise InputError(
                f"an EPUB whose text is larger than {_BYTES / 1e6:.0f} MB in one document, or"
                f" {self._most / 1e6:.0f} MB in all",
                remedy="divide it into volumes",
            )
        self._remaining -= len(content)
        return content


def _parsed(members: _Members) -> tuple[Pieces, Edition]:
    _check_unprotected(members)
    documents, fields = _package(members)
    pieces = Pieces()
    for name, is_navigation in documents:
        document = parse_html(members.read(name), name)
        if is_navigation:
            document.dropped += [
                Dropped("table of contents", piece.line, piece.text, name)
                for piece in document.pieces
            ]
            document.pieces = []
        pieces.pieces += document.pieces
        pieces.dropped += document.dropped
        pieces.characters += document.characters
    return pieces, fields


def _check_unprotected(members: _Members) -> None:
    if _ENCRYPTION not in members.names:
        return
    root = _xml(members.read(_ENCRYPTION), _ENCRYPTION)
    used = {element.get("Algorithm", "") for element in root.iter("{*}EncryptionMethod")}
    if not used.issubset(_FONTS):
        raise InputError(
            "an EPUB that is protected (DRM)", remedy="give an edition without protection"
        )


def _package(members: _Members) -> tuple[list[tuple[str, bool]], Edition]:
    """Returns the documents of the spine, each with whether it is navigation, and the fields."""
    container = _xml(members.read(_CONTAINER), _CONTAINER)
    paths = [element.get("full-path", "") for element in container.iter("{*}rootfile")]
    if not paths:
        raise InputError("an EPUB that names no package", remedy=_REMEDY)
    path = _inside("", paths[0])
    root = _xml(members.read(path), path)
    items = {item.get("id"): item for item in root.iter("{*}item")}
    documents = []
    for reference in root.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type", _HTML[0]) not in _HTML:
            continue
        name = _inside(path, unquote(item.get("href", "")))
        documents.append((name, "nav" in item.get("properties", "").split()))
    if not documents:
        raise InputError("an EPUB without a document in its spine", remedy=_REMEDY)
    if len(documents) > _DOCUMENTS:
        raise InputError(f"an EPUB with more than {_DOCUMENTS:,} documents", remedy=_REMEDY)
    title, author, lang = (_first(root, name) for name in ("title", "creator", "language"))
    lang = lang.partition("-")[0].lower()
    return documents, Edition((), title=title, author=author, lang=lang or None)


def _inside(path: str, href: str) -> str:
    """Returns the name of a member that another one names.

    Raises:
        InputError: it is outside the archive.
    """
    name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
    if name.startswith(("/", "..")) or "\\" in name or ":" in name:
        raise InputError(f"an EPUB that names a file outside of itself, {href!r}", remedy=_REMEDY)
    return name


def _first(root: Any, name: str) -> str:
    element = next(root.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"), None)
    return "" if element is None else text_of(element)


def _xml(data: bytes, name: str) -> Any:
    from lxml import etree

    try:
        return parse_xml(data)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"an EPUB whose {name} is damaged: {error}", remedy=_REMEDY) from None

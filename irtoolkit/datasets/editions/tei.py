"""TEI as text: prose, verse and drama.

The header's title, separate notes, no editorial additions.
"""

from __future__ import annotations

from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.editions import words
from irtoolkit.datasets.editions.edition import Edition
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
    text_of,
)

_BLOCKS = frozenset(
    words(
        "TEI TEI.2 text body front back group div div0 div1 div2 div3 div4 div5 div6 p lg sp"
        " ab stage epigraph quote q list item table row argument opener closer salute signed"
        " dateline trailer byline docTitle docAuthor titlePage titlePart castList castItem set"
        " floatingText"
    )
)
_LINES = frozenset(["l", "lb"])
_DROPPED = {
    "teiHeader": "header",
    "fw": "running head",
    "figDesc": "caption of a picture",
    "del": "deleted text",
    "sic": "another reading",
    "orig": "another reading",
    "abbr": "another reading",
    "rdg": "another reading",
}
# They are dropped only beside the reading that is taken.
_READINGS = {"sic": "corr", "orig": "reg", "abbr": "expan", "rdg": "lem"}
_SPOKEN = frozenset(["quote", "q"])


def parse_tei(data: bytes) -> tuple[Pieces, Edition]:
    """Reads the bytes of a TEI document.

    Raises:
        InputError: not XML, not TEI, or with a document type that defines entities.
    """
    from lxml import etree

    try:
        root = parse_xml(data)
    except (etree.XMLSyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            f"not well-formed XML: {error}", line=line, remedy="mend it, or save it as plain text"
        ) from None
    if tag_of(root) not in ("TEI", "TEI.2", "teiCorpus"):
        raise InputError(
            f"XML with the root <{tag_of(root)}>, and a book in XML is TEI",
            remedy="convert it to TEI, HTML or plain text",
        )
    if root.getroottree().docinfo.internalDTD is not None and "<!ENTITY" in data[:100_000].decode(
        "utf-8", "replace"
    ):
        raise InputError(
            "XML that defines entities of its own", remedy="save it with the entities written out"
        )
    if next(root.iter(etree.Entity), None) is not None:
        raise InputError(
            "XML with entities that it does not define",
            remedy="save it with the entities written out",
        )
    return read_tree(root, role_of), _header(root)


def role_of(element: Any) -> Role:
    """Returns the role of a TEI element."""
    name = tag_of(element)
    if name == "head":
        return Role("heading", level=min(6, 1 + _depth(element)))
    if name == "note":
        return NOTE
    if name in _LINES:
        return INLINE if element.get("break") == "no" else BREAK
    if name in _READINGS and not _has_other(element, _READINGS[name]):
        return INLINE
    if _DROPPED.get(name):
        return Role("drop", _DROPPED[name])
    if name in ("speaker", "stage"):
        return Role("block", level=-1)
    if name in _SPOKEN and not any(tag_of(child) in ("p", "lg", "l") for child in element):
        return INLINE
    return BLOCK if name in _BLOCKS else INLINE


def _depth(element: Any) -> int:
    """Returns how many divisions the one of an element is nested in."""
    names = [tag_of(above) for above in element.iterancestors()]
    return max(0, sum(name.startswith("div") for name in names) - 1)


def _has_other(element: Any, name: str) -> bool:
    above = element.getparent()
    return above is not None and any(tag_of(child) == name for child in above)


def _header(root: Any) -> Edition:
    """Returns an edition of the fields of a document's header, without text."""
    fields = {"title": "", "author": ""}
    for tag in fields:
        for element in root.iter(f"{{*}}{tag}"):
            if any(tag_of(above) == "titleStmt" for above in element.iterancestors()):
                fields[tag] = text_of(element)
                break
    codes = (e.get(_LANG) or e.get("ident") for e in root.iter("{*}text", "{*}TEI", "{*}language"))
    lang = next(filter(None, codes), "")
    return Edition(
        (),
        title=fields["title"],
        author=fields["author"],
        lang=lang.partition("-")[0].lower() or None,
    )


_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

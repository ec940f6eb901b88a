"""Footnotes of web pages that nothing but links marks: from the text to the note, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from irtoolkit.datasets.editions import words
from irtoolkit.datasets.editions.markup import NOTE, Role, tag_of

# What links to notes and back are made of: "1", "[1]", "*", "a".
_SIGN = re.compile(
    r"[\[(]?(?:\d{1,4}|[*\u2020\u2021\u00b9\u00b2\u00b3]{1,3}|[ivx]{1,6}|[a-z])[\])]?[.:]?"
)
_PARAGRAPHS = words("p li div dd aside td blockquote h1 h2 h3 h4 h5 h6")


def linked_notes(root: Any) -> dict[Any, Role]:
    """Returns the marks and notes of a document whose links lead to each other.

    A note begins with the link that leads back; the mark that it leads to has text before it.
    """
    links = [link for link in root.iter("{*}a", "a") if _is_sign(link)]
    if len(links) < 2:
        return {}
    owners = {link: _paragraph(link) for link in links}
    named: dict[str, Any] = {}
    for link in links:
        for name in _names(link, owners[link]):
            named.setdefault(name, link)
    roles: dict[Any, Role] = {}
    for mark in links:
        note = named.get(_target(mark))
        if note is None or named.get(_target(note)) is not mark:
            continue
        if _begins(note, owners[note]) and not _begins(mark, owners[mark]):
            roles[mark] = Role("drop", "mark of a note")
            above = owners[note].getparent()
            is_item = above is not None and above.get("id") == _target(mark)
            roles[above if is_item else owners[note]] = NOTE
    return roles


def _is_sign(link: Any) -> bool:
    return "#" in link.get("href", "") and _SIGN.fullmatch(_text(link)) is not None


def _target(link: Any) -> str:
    return str(link.get("href", "")).rpartition("#")[2]


def _text(element: Any) -> str:
    return "".join(element.itertext()).strip()


def _paragraph(link: Any) -> Any:
    """Returns the paragraph that a link is in; None of a link without one."""
    return next(
        (above for above in link.iterancestors() if tag_of(above).lower() in _PARAGRAPHS), None
    )


def _names(link: Any, owner: Any) -> Iterator[str]:
    """Yields the names by which links lead to a link: its own, those around it, and an empty anchor's before it."""
    element = link
    while element is not None:
        if name := element.get("id") or element.get("name"):
            yield name
        if element is owner:
            # The item of a list has the name of its first paragraph.
            above = owner.getparent()
            if above is not None and tag_of(above).lower() == "li" and owner.getprevious() is None:
                yield above.get("id", "")
            return
        before = element.getprevious()
        if before is not None and tag_of(before).lower() in ("a", "span") and not _text(before):
            yield before.get("id") or before.get("name") or ""
        element = element.getparent()


def _begins(link: Any, owner: Any) -> bool:
    """Returns whether nothing is before a link in its paragraph."""
    if owner is None:
        return False
    element = link
    while element is not owner:
        for before in element.itersiblings(preceding=True):
            if _text(before) or (before.tail or "").strip():
                return False
        element = element.getparent()
        if (element.text or "").strip():
            return False
    return True

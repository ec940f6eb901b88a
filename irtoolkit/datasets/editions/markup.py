"""The blocks of a parsed HTML or TEI document: text, notes, and dropped pieces.

The tree is walked without recursion, so that deep ones do no harm. Nothing is fetched, and nothing
in a document is run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from irtoolkit.datasets.editions.lines import Dropped, written_out

Kind = Literal["inline", "block", "heading", "note", "drop", "break"]


class Role(NamedTuple):
    """The role of an element.

    Attributes:
        kind: "inline" for a part of a block; "block" begins and ends one; "heading", "note", "drop";
            "break" is white space.
        reason: why it is dropped.
        level: of a heading, from 1.
    """

    kind: Kind
    reason: str = ""
    level: int = 0


INLINE, BLOCK, BREAK, NOTE = Role("inline"), Role("block"), Role("break"), Role("note")


@dataclass
class Piece:
    """A paragraph, heading or note of a document.

    Attributes:
        text: with the line ends of the document.
        line: its first line.
        level: of a heading, from 1; otherwise 0.
        is_note: whether it is a note.
        part: the document of an EPUB that it is in.
    """

    text: str
    line: int
    level: int = 0
    is_note: bool = False
    part: str = ""


@dataclass
class Pieces:
    """The content of a document.

    Attributes:
        pieces: in order.
        dropped: the pieces that are not text.
        characters: their number, without white space.
    """

    pieces: list[Piece] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    characters: int = 0


class _Block(NamedTuple):
    """An open block: its text so far, and its fields of `Piece`."""

    text: list[str]
    line: int
    level: int
    is_note: bool


def parse_xml(data: str | bytes) -> Any:
    """Returns the root of an XML document, without fetching or expanding anything it names.

    Raises:
        lxml.etree.XMLSyntaxError, ValueError: it is not well-formed.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    return etree.fromstring(data, parser)


def tag_of(element: Any) -> str:
    """Returns the name of an element without its namespace; "" of a comment."""
    tag = getattr(element, "tag", "")
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def text_of(element: Any) -> str:
    """Returns the text in an element on one line."""
    return " ".join("".join(element.itertext()).split())


def read_tree(root: Any, role_of: Callable[[Any], Role], part: str = "") -> Pieces:
    """Returns the blocks of an lxml tree.

    Args:
        root: its root.
        role_of: returns the role of an element.
        part: the name of the document in its file, for dropped pieces.
    """
    from lxml import etree

    pieces = Pieces()
    reader = _Reader(pieces, part)
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            reader.start(role_of(node), node.sourceline or 0)
            reader.text(node.text)
        else:
            if event == "end":
                reader.end()
            if node is not root:
                reader.text(node.tail)
    reader.flush()
    return pieces


class _Reader:
    """A builder of blocks from the text between the beginnings and ends of elements."""

    def __init__(self, pieces: Pieces, part: str) -> None:
        self._pieces, self._part = pieces, part
        # The roles of open elements; the block around each; the reason and line of its removal.
        self._open: list[tuple[Role, _Block, tuple[str, int]]] = []
        self._block = _Block([], 0, 0, False)
        self._dropping = ("", 0)

    def start(self, role: Role, line: int) -> None:
        """Begins an element."""
        self._open.append((role, self._block, self._dropping))
        if self._dropping[0]:
            return
        if role.kind == "drop":
            self._dropping = (role.reason, line)
        elif role.kind == "break":
            self._block.text.append("\n")
        elif role.kind == "note":
            # It does not end the paragraph that it is in.
            self._block = _Block([], line, 0, True)
        elif role.kind in ("block", "heading"):
            self.flush()
            self._block = _Block([], line, role.level, self._block.is_note)

    def text(self, text: str | None) -> None:
        """Takes text of the innermost element."""
        if not text:
            return
        text = written_out(text)
        self._pieces.characters += len("".join(text.split()))
        reason, line = self._dropping
        if not reason:
            self._block.text.append(text)
        elif text.strip():
            self._pieces.dropped.append(Dropped(reason, line, text, self._part))

    def end(self) -> None:
        """Ends the innermost element."""
        role, block, dropping = self._open.pop()
        if not self._dropping[0] and role.kind in ("block", "heading", "note"):
            self.flush()
            self._block = block
        self._dropping = dropping

    def flush(self) -> None:
        """Ends a block."""
        text = "".join(self._block.text).strip()
        self._block.text.clear()
        if text:
            _, line, level, is_note = self._block
            self._pieces.pieces.append(Piece(text, line, level, is_note, self._part))

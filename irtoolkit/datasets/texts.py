"""Texts by id: of lists of strings, mappings, data frames, records and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.frames import column_named, columns_of, frame_columns, is_frame
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.pipes import is_pipe
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.local.contents import find_format
from irtoolkit.datasets.local.formats import DOC_FORMATS, DOC_IDS, DOC_TEXTS, TITLE, check_id
from irtoolkit.datasets.local.sheets import TOPIC_IDS, TOPIC_TEXTS
from irtoolkit.datasets.local.topics import read_topics
from irtoolkit.datasets.text_file import FORMATS, format_of, is_text_file

# The line, id and text of a document or query.
Row = tuple[int, str, str]


@dataclass(frozen=True)
class TextKind:
    """The content of a collection of texts: documents or queries.

    Attributes:
        noun, plural: the names of one text and of all of them in messages.
        ids: names that a record or a column may give to the id; the first one that is present is read.
        texts: names of the text.
        titled: whether a title comes before the text.
    """

    noun: str
    plural: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    titled: bool

    def rows(self, path: Path) -> Iterator[Row]:
        """Yields the rows of a file."""
        return _doc_rows(path) if self.titled else _query_rows(path)


DOCS = TextKind("document", "documents", DOC_IDS, DOC_TEXTS, titled=True)
QUERIES = TextKind("query", "queries", TOPIC_IDS, TOPIC_TEXTS, titled=False)


def _doc_rows(path: Path) -> Iterator[Row]:
    form = format_of(path)
    if form is None:
        remedy = f"its name ends in {', '.join(FORMATS)}"
        raise InputError("not a file of documents", file=path, remedy=remedy)
    if not path.is_file():
        raise no_such_file(path)
    for doc in DOC_FORMATS[form](path):
        check_id(doc.doc_id, path, doc.line)
        yield doc.line, doc.doc_id, f"{doc.title} {doc.text}".strip()


def _query_rows(path: Path) -> Iterator[Row]:
    for topic in read_topics(find_format("topics", path), path):
        yield topic.line, topic.query_id, topic.title or topic.description


def texts_of(source: Any, kind: TextKind, ids: Iterable[str] | None = None) -> dict[str, str]:
    """Returns id to text, in order.

    Args:
        source: texts in any of the forms that `irtoolkit.datasets.memory.dataset_of_texts` takes.
        kind: `DOCS` or `QUERIES`.
        ids: ids of the texts, if `source` is a list of strings.

    Raises:
        InputError: there are none, an id twice, a text that is not a string, or a query without text.
    """
    texts: dict[str, str] = {}
    for doc_id, text in _pairs(source, kind, ids):
        if not isinstance(text, str):
            raise InputError(
                f"the text of {kind.noun} {doc_id} is {text!r}, which is not a string",
                remedy="give every one a string",
            )
        if kind is QUERIES and not text.strip():
            raise InputError(f"query {doc_id} has no text", remedy="leave it out, or give it one")
        name = str(doc_id)
        if name in texts:
            raise _twice(source, name, kind)
        texts[name] = text
    if not texts and is_path(source):
        raise InputError(f"there are no {kind.plural}", file=source, remedy="give another file")
    if not texts:
        once = "; a generator can be read once: pass a list" if isinstance(source, Iterator) else ""
        raise InputError(f"there are no {kind.plural}", remedy=f"give at least one{once}")
    return texts


def is_path(value: Any) -> bool:
    """Returns whether it is a path, or the name of a file."""
    if not isinstance(value, str):
        return isinstance(value, PathLike)
    return is_text_file(value) or is_file(value) or is_pipe(value)


def _twice(source: Any, name: str, kind: TextKind) -> InputError:
    """Returns the error for an id that occurs twice, with the lines of a file."""
    problem, remedy = f"{kind.noun} {name} occurs twice", "ids must be distinct"
    if not is_path(source):
        return InputError(problem, remedy=remedy)
    lines = [line for line, row_id, _ in kind.rows(local(source)) if row_id == name]
    return InputError(
        f"{problem}, first on line {lines[0]}", file=source, line=lines[1], remedy=remedy
    )


def _pairs(source: Any, kind: TextKind, ids: Iterable[str] | None) -> Iterable[tuple[Any, Any]]:
    if ids is not None:
        return _numbered(source, kind, ids)
    if isinstance(source, Mapping):
        return source.items()
    if is_path(source):
        return ((name, text) for _, name, text in kind.rows(local(source)))
    if is_frame(source):
        return _framed(source, kind)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        raise InputError(
            f"{source!r:.60} is not a collection of {kind.plural}",
            remedy="give a list of strings, a dict of id to text, a data frame or a .jsonl file",
        )
    return (_pair(item, i, kind) for i, item in enumerate(source))


def _numbered(source: Any, kind: TextKind, ids: Iterable[str]) -> Iterable[tuple[Any, Any]]:
    texts, names = list(source), list(ids)
    if len(texts) != len(names):
        raise InputError(
            f"{number_of(len(names), 'ids')} for {number_of(len(texts), kind.plural)}",
            remedy="one id for each",
        )
    return zip(names, texts, strict=True)


def _pair(item: Any, position: int, kind: TextKind) -> tuple[Any, Any]:
    """Returns the id and the text of one item; of a bare string its position is the id."""
    if isinstance(item, str):
        return str(position), item
    if isinstance(item, Mapping):
        text = _picked(item, kind.texts, kind, position)
        if kind.titled:
            text = _titled(item.get(TITLE), text)
        return _picked(item, kind.ids, kind, position), text
    if hasattr(item, "_fields"):  # a record, as ir_datasets has them
        name = _picked(item._asdict(), kind.ids, kind, position)
        return name, item.default_text() if hasattr(item, "default_text") else item[1]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise InputError(
        f"item {position} of the {kind.plural} is {item!r:.60}",
        remedy="give strings, (id, text) pairs or records with an id and a text",
    )


def _picked(
    record: Mapping[str, Any], names: tuple[str, ...], kind: TextKind, position: int
) -> Any:
    for name in names:
        if name in record:
            return record[name]
    raise InputError(
        f"{kind.noun} {position} has {', '.join(map(str, record))}, and none of {', '.join(names)}",
        remedy="rename a field",
    )


def _framed(frame: Any, kind: TextKind) -> Iterable[tuple[Any, Any]]:
    columns = columns_of(frame, (kind.ids, kind.texts), kind.plural)
    names = frame_columns(frame, kind.plural)
    if kind.titled and TITLE in names:
        titles = column_named(frame, names, TITLE, kind.plural)
        columns[1] = [_titled(title, text) for title, text in zip(titles, columns[1], strict=True)]
    return zip(*columns, strict=True)


def _titled(title: Any, text: Any) -> Any:
    """Returns a text below its title, if both are texts."""
    both = isinstance(title, str) and isinstance(text, str)
    return f"{title} {text}".strip() if both else text

"""Readers of documents in the usual formats of test collections, one document at a time.

TREC SGML: `<DOC>` elements with a `<DOCNO>`. The text is everything else, without tags and with
character references resolved, as in Terrier. (Anserini and ir_datasets read only TEXT, TITLE,
HEADLINE and seven more elements, and so nothing of a document without them.) Comments, DOCHDR,
scripts and styles are not text. JSON lines: as BEIR and Pyserini write them. TSV: id, tab, text, as
in MS MARCO. CSV and Parquet: columns with the field names of JSON lines.
"""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import is_word
from irtoolkit.datasets.cache import CacheWriter, Schemas
from irtoolkit.datasets.local import sheets
from irtoolkit.datasets.local.tsv import DOC_IDS as DOC_IDS
from irtoolkit.datasets.local.tsv import DOC_TEXTS as DOC_TEXTS
from irtoolkit.datasets.local.tsv import TITLE as TITLE
from irtoolkit.datasets.local.tsv import tsv_rows
from irtoolkit.datasets.novels import LONGEST, read_novel

DOC_SCHEMA: Schemas = {
    "docs": {"doc_id": pa.string(), "title": pa.string(), "text": pa.string()},
}
_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>]*>")
# Elements whose content is not text; DOCNO's content is the id.
_ENCLOSED = re.compile(r"<(?:(docno|dochdr|script|style)(?:\s[^<>]*)?>|!--)", re.IGNORECASE)
_CLOSINGS = {
    "--": re.compile("-->"),
    **{
        name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
        for name in ("docno", "dochdr", "script", "style")
    },
}
# The beginning of the formats of books; the number of sentences of a passage follows.
BOOK = "txt:"
_SGML = "a document is <DOC> <DOCNO>id</DOCNO> text </DOC>"


class Doc(NamedTuple):
    """A document, and the line of the file on which it begins."""

    line: int
    doc_id: str
    title: str
    text: str


def write_docs(form: str, files: Sequence[Path], out: CacheWriter) -> None:
    """Parses and checks documents, with 8 bytes per document in memory.

    Args:
        form: the format; a key of `DOC_FORMATS`.
        files: the files, in the order of the documents.
        out: receives rows of `DOC_SCHEMA`.

    Raises:
        InputError: not the format; an id is missing, is not one word or appears twice; or there are
            no documents. Documents may be empty.
    """
    hashes = array("q")
    for path in files:
        before = len(hashes)
        for doc in DOC_FORMATS[form](path):
            check_id(doc.doc_id, path, doc.line)
            hashes.append(hash(doc.doc_id))
            out.add("docs", doc.doc_id, doc.title, doc.text)
        if len(hashes) == before:
            raise InputError(
                "no documents",
                file=path,
                remedy=f"give another file, or leave it out; {_SGML}"
                if form == "trec"
                else "give another file, or leave it out",
            )
    _check_distinct_ids(form, files, hashes)


def _check_distinct_ids(form: str, files: Sequence[Path], hashes: array[int]) -> None:
    """Reads the files again if some ids have the same hash, and compares these ids."""
    ordered = np.sort(np.frombuffer(hashes, dtype=np.int64))
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not suspects:
        return
    first: dict[str, str] = {}
    for path in files:
        for doc in DOC_FORMATS[form](path):
            if hash(doc.doc_id) not in suspects:
                continue
            if doc.doc_id in first:
                raise InputError(
                    f"document {doc.doc_id} appears twice, first at {first[doc.doc_id]}",
                    file=path,
                    line=doc.line,
                    remedy="keep one of the two",
                )
            first[doc.doc_id] = f"{path.name}:{doc.line}"


def check_id(doc_id: str, path: Path, line: int) -> None:
    """Raises InputError for an id that a TREC run cannot hold."""
    if not is_word(doc_id):
        raise InputError(
            f"the document id {doc_id!r} is not one word",
            file=path,
            line=line,
            remedy="ids are fields of TREC runs, which white space separates",
        )


def sgml_elements(path: Path, tag: str, shape: str) -> Iterator[tuple[int, str, str]]:
    """Yields (line, opening tag, content) of each element; elements may share lines but not nest.

    Args:
        path: UTF-8 text, plain or .gz.
        tag: the tag, in any case in the file.
        shape: how an element should look, for messages.

    Raises:
        InputError: an element is not closed or not opened, or there is text outside of elements.
    """
    mark = re.compile(rf"<(/?){tag}(?:\s[^<>]*)?>", re.IGNORECASE)
    opened, opening, parts, outside = 0, "", list[str](), list[str]()

    def invalid(problem: str, line: int) -> InputError:
        return InputError(problem, file=path, line=line, remedy=shape)

    for number, line in read_lines(path):
        position = 0
        for match in mark.finditer(line):
            (parts if opened else outside).append(line[position : match.start()])
            position = match.end()
            if bool(match[1]) != bool(opened):
                if opened:
                    raise invalid(f"<{tag}> is not closed: another begins at line {number}", opened)
                raise invalid(f"</{tag}> without <{tag}>", number)
            if opened:
                yield opened, opening, "".join(parts)
                opened, parts = 0, []
            else:
                opened, opening = number, match[0]
        (parts if opened else outside).extend((line[position:], "\n"))
        if not opened and _text_and_names("".join(outside))[0].strip():
            raise invalid(f"text outside of <{tag}>", number)
        outside = []
    if opened:
        raise invalid(f"<{tag}> is not closed before the file ends", opened)


def _sgml_docs(path: Path) -> Iterator[Doc]:
    for line, _, content in sgml_elements(path, "DOC", _SGML):
        body, names = _text_and_names(content)
        if len(names) != 1:
            problem = f"{len(names)} <DOCNO>" if names else "no <DOCNO>"
            raise InputError(f"a document with {problem}", file=path, line=line, remedy=_SGML)
        yield Doc(line, html.unescape(names[0]).strip(), "", html.unescape(body).strip())


def _text_and_names(content: str) -> tuple[str, list[str]]:
    """Returns the text of some mark-up, spaces for tags, and the content of its DOCNOs."""
    texts, names, position = list[str](), list[str](), 0
    unclosed: set[str] = set()
    while opening := _ENCLOSED.search(content, position):
        name = (opening[1] or "--").lower()
        closing = None if name in unclosed else _CLOSINGS[name].search(content, opening.end())
        if closing is None:
            unclosed.add(name)
            texts.append(content[position : opening.end()])
            position = opening.end()
            continue
        texts.extend((content[position : opening.start()], " "))
        if name == "docno":
            names.append(content[opening.end() : closing.start()])
        position = closing.end()
    texts.append(content[position:])
    return _TAG.sub(" ", "".join(texts)), names


def _record_docs(records: Callable[[Path], sheets.Records], path: Path) -> Iterator[Doc]:
    fields: tuple[str, ...] = ()
    for line, record in records(path):
        fields = fields or doc_fields(record, path, line)
        yield Doc(
            line,
            json_id(record, fields[0], path, line),
            json_text(record, TITLE, path, line, optional=True).strip(),
            json_text(record, fields[1], path, line).strip(),
        )


def doc_fields(record: Mapping[str, Any], path: Path, line: int) -> tuple[str, str]:
    """Returns the fields of id and text in JSON documents, chosen by the first document."""
    return (
        pick_field(record, DOC_IDS, "a document's id", path, line),
        pick_field(record, DOC_TEXTS, "a document's text", path, line),
    )


def pick_field(
    record: Mapping[str, Any], names: Sequence[str], noun: str, path: Path, line: int
) -> str:
    """Returns the first of some field names that a record has."""
    field = next((name for name in names if name in record), None)
    if field is None:
        raise InputError(
            f"no field with {noun}", file=path, line=line, remedy=f"name it {' or '.join(names)}"
        )
    return field


def json_id(record: Mapping[str, Any], field: str, path: Path, line: int) -> str:
    """Returns the id in a field, which may be a whole number."""
    value = record.get(field)
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise _wrong_kind(record, field, "text or a whole number", path, line)


def json_text(
    record: Mapping[str, Any], field: str, path: Path, line: int, *, optional: bool = False
) -> str:
    """Returns the text in a field; an optional one may be null or missing, and is then ""."""
    value = record.get(field)
    if isinstance(value, str):
        return value
    if optional and value is None:
        return ""
    raise _wrong_kind(record, field, "text", path, line)


def _wrong_kind(
    record: Mapping[str, Any], field: str, kind: str, path: Path, line: int
) -> InputError:
    if field not in record:
        return InputError(
            f"no field {field!r}", file=path, line=line, remedy="the records before it have one"
        )
    value_text = repr(record[field])[:40]
    return InputError(
        f"the field {field!r} is {value_text}", file=path, line=line, remedy=f"it must be {kind}"
    )


def _tsv_docs(path: Path) -> Iterator[Doc]:
    return (Doc(line, doc_id, "", text) for line, doc_id, text in tsv_rows(path))


def _book_docs(sentences: int, path: Path) -> Iterator[Doc]:
    """Yields the passages of so many consecutive sentences of a book; their number is the line."""
    book = read_novel(path).book(sentences)
    for length, starts in book.starts.items():
        for start in starts.tolist():
            passage = book.passage(start, length)
            yield Doc(start + 1, passage.doc_id, "", passage.text)


DOC_FORMATS: dict[str, Callable[[Path], Iterator[Doc]]] = {
    "trec": _sgml_docs,
    "tsv": _tsv_docs,
    **{form: partial(_record_docs, records) for form, records in sheets.RECORDS.items()},
    **{f"{BOOK}{n}": partial(_book_docs, n) for n in range(1, LONGEST + 1)},
}

"""Readers of topics in the usual formats of test collections.

TREC SGML, in which a field of a `<top>` ends at its closing tag or at the next field, and fields
other than title (or query), description (or question) and narrative are ignored; TREC XML, with
`<topic>`; JSON lines, as in BEIR; TSV with id and text; CSV, Parquet and Arrow, whose columns have the
usual names.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import is_word
from irtoolkit.datasets.cache import CacheWriter, Schemas
from irtoolkit.datasets.local import sheets
from irtoolkit.datasets.local.formats import (
    json_id,
    json_text,
    pick_field,
    sgml_elements,
)
from irtoolkit.datasets.local.sheets import TOPIC_IDS, TOPIC_TEXTS
from irtoolkit.datasets.local.tsv import tsv_rows

TOPIC_SCHEMA: Schemas = {
    "topics": dict.fromkeys(("query_id", "title", "description", "narrative"), pa.string()),
}

_SGML = 'a topic is <top> <num> id <title> text </top>, or <topic number="id"> text </topic>'
# Fields, and their names in TREC's topics; the first one that occurs is read.
_FIELDS = {
    "num": ("num", "number", "identifier", "qid", "id"),
    "title": ("title", "query"),
    "desc": ("desc", "description", "question", "summary"),
    "narr": ("narr", "narrative"),
}
_KNOWN = {name for names in _FIELDS.values() for name in names}
_TOPIC = re.compile(r"<(top|topic)[\s>]", re.IGNORECASE)
_NUMBER = re.compile(r"\s(?:number|num|id|qid)\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")
# Tags inside a field's text; any other tag begins a field.
_MARKUP = re.compile("a|b|br|div|em|i|li|ol|p|span|strong|sub|sup|u|ul")
# Labels that TREC's first topics have before a field's text.
_LABELS = {
    "num": re.compile(r"\s*(?:Number|Topic)\s*:"),
    "title": re.compile(r"\s*(?:Topic|Title)\s*:"),
    "desc": re.compile(r"\s*Description\s*(?::|\n)"),
    "narr": re.compile(r"\s*Narrative\s*(?::|\n)"),
}


class Topic(NamedTuple):
    """A topic, and the line of the file on which it begins."""

    line: int
    query_id: str
    title: str
    description: str = ""
    narrative: str = ""


def read_topics(form: str, path: Path) -> Iterator[Topic]:
    """Yields the topics of a file, each with an id of one word and a text.

    Raises:
        InputError: not the format `form`, a key of `TOPIC_FORMATS`; an id is missing, is not one
            word or appears twice; a topic has neither title nor description; or there are no
            topics.
    """
    lines: dict[str, int] = {}
    for topic in TOPIC_FORMATS[form](path):
        name, problem, remedy = topic.query_id, None, ""
        if not is_word(name):
            problem = f"the topic id {name!r} is not one word"
            remedy = "ids are fields of TREC runs, which white space separates"
        elif name in lines:
            problem = f"topic {name} appears twice, first at line {lines[name]}"
            remedy = "keep one of the two"
        elif not (topic.title or topic.description):
            problem, remedy = f"topic {name} has no text", "give it a text, or remove it"
        if problem is not None:
            raise InputError(problem, file=path, line=topic.line, remedy=remedy)
        lines[name] = topic.line
        yield topic
    if not lines:
        remedy = _SGML if form == "trec" else "give another file"
        raise InputError("no topics", file=path, remedy=remedy)


def write_topics(form: str, path: Path, out: CacheWriter) -> None:
    """Writes the topics of a file into rows of `TOPIC_SCHEMA`; raises the errors of `read_topics`."""
    for topic in read_topics(form, path):
        out.add("topics", *topic[1:])


def _sgml_topics(path: Path) -> Iterator[Topic]:
    """Yields TREC's topics: `<top>` with fields, or XML `<topic>`, perhaps with a number
    attribute.
    """
    matches = (_TOPIC.search(line) for _, line in read_lines(path))
    tag = next((match[1].lower() for match in matches if match), "top")
    for line, opening, content in sgml_elements(path, tag, _SGML):
        fields = _fields(content, path, line)
        number = _NUMBER.search(opening)
        if number:
            fields["num"] = number[1].strip()
        if "num" not in fields:
            raise InputError("a topic without <num>", file=path, line=line, remedy=_SGML)
        topic = Topic(line, *(fields.get(name, "") for name in _FIELDS))
        if not (topic.title or topic.description) and (others := _tags(content) - _KNOWN):
            raise InputError(
                f"topic {topic.query_id} has no title, query or description, but {', '.join(sorted(others))}",
                file=path,
                line=line,
                remedy="rename the field that is the query to <query>",
            )
        yield topic


def _tags(content: str) -> set[str]:
    return {tag[2].lower() for tag in _TAG.finditer(content)}


def _fields(content: str, path: Path, first: int) -> dict[str, str]:
    """Returns the known fields of a topic, with labels and extra white space removed.

    The text of a topic without fields is its title.
    """
    fields: dict[str, list[str]] = {}
    current: str | None = None
    position = 0
    if not _tags(content) & _KNOWN and (bare := _TAG.sub(" ", content)).strip():
        return {} if _tags(content) else {"title": _tidy("title", bare)}

    def take(text: str) -> None:
        if current is not None:
            fields[current].append(text)
        elif text.strip():
            raise InputError(
                "text outside of a topic's fields",
                file=path,
                line=first + content.count("\n", 0, position + len(text) - len(text.lstrip())),
                remedy=_SGML,
            )

    for tag in _TAG.finditer(content):
        take(content[position : tag.start()])
        position = tag.end()
        name = tag[2].lower()
        if _MARKUP.fullmatch(name):
            continue
        if tag[1]:
            current = None if name == current else current
        else:
            if name in fields and name in _KNOWN:
                line = first + content.count("\n", 0, tag.start())
                raise InputError(
                    f"a second <{name}> in one topic", file=path, line=line, remedy=_SGML
                )
            fields.setdefault(name, [])
            current = name
    take(content[position:])
    chosen = {
        field: next((name for name in names if name in fields), None)
        for field, names in _FIELDS.items()
    }
    return {
        field: _tidy(field, " ".join(fields[name]))
        for field, name in chosen.items()
        if name is not None
    }


def _tidy(name: str, text: str) -> str:
    label = _LABELS[name].match(text)
    return " ".join(html.unescape(text[label.end() :] if label else text).split())


def _record_topics(records: Callable[[Path], sheets.Records], path: Path) -> Iterator[Topic]:
    fields: tuple[str, ...] = ()
    for line, record in records(path):
        fields = fields or (
            pick_field(record, TOPIC_IDS, "a topic's id", path, line),
            pick_field(record, TOPIC_TEXTS, "a topic's text", path, line),
        )
        others = (
            " ".join(json_text(record, name, path, line, optional=True).split())
            for name in ("description", "narrative")
        )
        text = " ".join(json_text(record, fields[1], path, line).split())
        yield Topic(line, json_id(record, fields[0], path, line), text, *others)


def _tsv_topics(path: Path) -> Iterator[Topic]:
    return (Topic(*row) for row in tsv_rows(path))


TOPIC_FORMATS: dict[str, Callable[[Path], Iterator[Topic]]] = {
    "trec": _sgml_topics,
    "tsv": _tsv_topics,
    **{form: partial(_record_topics, records) for form, records in sheets.RECORDS.items()},
}

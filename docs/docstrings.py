"""Docstrings and dataclass fields as Markdown, for `generate.py`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from numbers import Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

# A colon in these sections does not end a name.
UNNAMED = ("Returns", "Yields")
SECTIONS = ("Attributes", "Args", "Returns", "Yields", "Raises")


class Docstring(NamedTuple):
    """A docstring in its parts.

    Attributes:
        body: the text before the first section.
        sections: section to its entries (name, text); the name is empty where there is none.
    """

    body: str
    sections: dict[str, list[tuple[str, str]]]


def parsed(doc: str | None) -> Docstring:
    """A docstring in Google's style, in its parts."""
    body: list[str] = []
    sections: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] | None = None
    what = ""
    for line in inspect.cleandoc(doc or "").splitlines():
        name = line.removesuffix(":")
        if line.endswith(":") and name in SECTIONS:
            current, what = sections.setdefault(name, []), name
        elif current is None or (line and not line.startswith(" ")):
            current = None
            body.append(line)
        elif line.strip():
            named = re.match(r"    (\*{0,2}\w[\w, ]*): (.*)", line)
            entry = None if what in UNNAMED else named
            if entry:
                current.append((entry[1], entry[2]))
            elif current:
                current[-1] = (current[-1][0], f"{current[-1][1]} {line.strip()}")
            else:
                current.append(("", line.strip()))
    return Docstring("\n".join(body).strip(), sections)


def documented(doc: str | None) -> str:
    """A whole docstring in Markdown."""
    found = parsed(doc)
    parts = [_body(found.body)] if found.body else []
    for section, entries in found.sections.items():
        lines = [f"- {_names(name)}{escaped(text)}" for name, text in entries]
        parts.append(f"{section}:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Text of a docstring in Markdown: code in backticks is kept as it is."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def table(headers: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _plain(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    # An underscore inside a word, as in trec_eval, needs no escape.
    text = re.sub(r"[*\\]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    # GitHub renders text between two dollar signs as a formula.
    return text.replace("$", "&#36;").replace("|", "&#124;")


def _body(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)
        elif line.startswith("- "):
            lines.append(f"- {escaped(line[2:])}")
        else:
            lines.append(escaped(line))
    return "\n".join(lines)


def _names(text: str) -> str:
    """`a, b` of an entry as code, with the colon that follows."""
    return f"{', '.join(f'`{name}`' for name in text.split(', '))}: " if text else ""


# -- fields of dataclasses ------------------------------------------------------------------------


def settings_table(cls: type, without: tuple[type, ...] = ()) -> str:
    """A table of the fields of a dataclass, with default, values and meaning.

    Args:
        cls: a retriever, a recipe or a stage.
        without: bases whose fields have a table of their own.
    """
    hints, said = get_type_hints(cls), attributes(cls)
    owners: dict[str, type] = {}
    for base in cls.__mro__:
        for name in inspect.get_annotations(base):
            owners.setdefault(name, base)
    order = list(owners)
    rows = []
    for field in sorted(dataclasses.fields(cls), key=lambda field: order.index(field.name)):
        if owners[field.name] in without:
            continue
        if field.default is not dataclasses.MISSING:
            default = shown_value(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            default = shown_value(field.default_factory())
        else:
            default = "required"
        meaning = said.get(field.name)
        rows.append([
            f"`{field.name}`", default, kind_of(hints[field.name]),
            "see above" if meaning is None else escaped(meaning),
        ])  # fmt: skip
    return table(["setting", "default", "values", "meaning"], rows) if rows else "No settings.\n"


def attributes(cls: type) -> dict[str, str]:
    """Attribute to its text in the docstring of the class or of a base; the nearest counts.

    Where a text refers to a base, as in "see `Neural`.", the base's text is taken.
    """
    by_class: dict[str, dict[str, str]] = {}
    for base in cls.__mro__:
        entries = parsed(vars(base).get("__doc__")).sections.get("Attributes", [])
        by_class[base.__name__] = {n: text for names, text in entries for n in names.split(", ")}
    found: dict[str, str] = {}
    for own in by_class.values():
        for name, text in own.items():
            found.setdefault(name, text)
    for name, text in found.items():
        sent = re.search(r"[Ss]ee `(\w+)`\.$", text)
        if sent and name in by_class.get(sent[1], {}):
            found[name] = text[: sent.start()] + by_class[sent[1]][name]
    return found


def shown_value(value: Any) -> str:
    """A default as code; empty for an empty text."""
    if value is None:
        return "`none`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = str(value).replace("\n", "\\n")
    return f"`{text}`" if text else ""


def kind_of(hint: Any) -> str:
    """A type as the values that --set takes."""
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if origin in (Union, types.UnionType):
        kinds = [kind_of(kind) for kind in get_args(hint) if kind is not type(None)]
        return " or ".join([*kinds, "`none`"])
    if origin is not None:
        return " ".join(str(hint).split())
    words = {
        int: "whole number", float: "number", Real: "number", bool: "`true`, `false`", str: "text",
        dict: "numbers by whole number",
    }  # fmt: skip
    return words.get(hint, str(hint.__name__))

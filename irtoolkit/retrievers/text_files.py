"""The texts of a file that is no dataset: what statistics are counted in, or words learnt from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, first_line, read_lines
from irtoolkit.base.ids import Segments
from irtoolkit.datasets.local.formats import DOC_TEXTS
from irtoolkit.datasets.strictjson import read_jsonl

# Fields of a JSON object that hold its text; the first one that the first object has is used.
FIELDS = (*DOC_TEXTS, "abstract")


def file_texts(path: StrPath) -> Iterator[Segments]:
    """The texts of a file, one at a time.

    A file whose first line begins with "{" is JSON lines: the text of an object is its text,
    contents, body or abstract, either a text or a list of sentences, as CSFCube's abstracts are.
    In any other file each line is a text. Blank lines are skipped.

    Args:
        path: UTF-8 text, plain, .gz, or a .zip with one file in it.

    Raises:
        InputError: not such a file, with the line.
    """
    _, first = first_line(path)
    if first.lstrip().startswith("{"):
        yield from _json_texts(Path(path))
    else:
        yield from ((line,) for _, line in read_lines(path) if line.strip())


def _json_texts(path: Path) -> Iterator[Segments]:
    name: str | None = None
    for line, value in read_jsonl(path, by_user=True):
        if not isinstance(value, dict):
            raise InputError("the line is not a JSON object", file=path, line=line)
        name = name or next((field for field in FIELDS if field in value), None)
        text: Any = None if name is None else value.get(name)
        if isinstance(text, str):
            yield (text,)
        elif isinstance(text, list) and all(isinstance(part, str) for part in text):
            yield tuple(text)
        else:
            raise InputError(
                "the object has no text" if name is None else f"{name} is not a text or sentences",
                file=path,
                line=line,
                remedy=f"its text is one of {', '.join(FIELDS)}, a text or a list of sentences",
            )

"""Training rows in files of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.ids import Ids, id_array
from irtoolkit.datasets.cache import content_hash
from irtoolkit.datasets.strictjson import read_jsonl


def file_key(file: Path) -> str:
    """Returns a hash of a file's content.

    Raises:
        InputError: there is no such file.
    """
    if not file.is_file():
        raise InputError("no such file", file=file)
    return content_hash(file)


def records(file: Path, remedy: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the line number and the object of each line.

    Args:
        file: JSON lines, plain or .gz.
        remedy: the description of a valid line or file.

    Raises:
        InputError: a line is not a JSON object, or the file cannot be read.
    """
    for line, record in read_jsonl(file, by_user=True):
        if not isinstance(record, dict):
            raise InputError("not a JSON object", file=file, line=line, remedy=remedy)
        yield line, record


def read_ids(file: str) -> Ids:
    """Returns the ids in a file, one on a line; empty lines do not count.

    Raises:
        InputError: there is no such file, or no id in it.
    """
    ids = [text for _, line in read_lines(file, empty=False) if (text := line.strip())]
    if not ids:
        raise InputError("no ids", file=file, remedy="one id on a line, of a query or a book")
    return id_array(ids)


def no_rows(file: Path) -> InputError:
    """Returns the error for a file without rows."""
    return InputError("no rows to train on", file=file)

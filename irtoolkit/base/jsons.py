"""JSON that anybody may have written, and JSON files of our own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.paths import StrPath


def load_json(text: str | bytes) -> Any:
    """Returns the value of a JSON text.

    Raises:
        ValueError: it is not JSON, or nested more deeply than Python reads; `json.loads` raises
            a RecursionError of that.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_json(path: StrPath, value: Any, indent: int | None = None) -> None:
    """Writes a JSON file atomically; characters beyond ASCII are written as they are."""
    with atomic_text(path) as out:
        json.dump(value, out, ensure_ascii=False, indent=indent)
        out.write("\n")


def json_line(value: Any) -> str:
    """Returns a value as a line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def write_json_lines(path: StrPath, values: Iterable[Any]) -> None:
    """Writes a file of JSON lines atomically."""
    with atomic_text(path) as out:
        out.writelines(map(json_line, values))

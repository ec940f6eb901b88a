"""TOML of files that anybody may have written."""

from __future__ import annotations

import tomllib
from typing import Any

# TOML asks for no more of a reader, and Python does not print integers of thousands of digits.
_LARGEST = 2**63


def load_toml(text: str) -> dict[str, Any]:
    """Returns the content of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: the text is no TOML, it is nested too deeply, or it has an integer of
            more than 64 bits.
    """
    try:
        content = tomllib.loads(text)
        _check(content)
    except RecursionError:
        raise tomllib.TOMLDecodeError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a number of too many digits to be read
        raise tomllib.TOMLDecodeError(f"not a value: {str(error).partition(';')[0]}") from None
    return content


def table_lines(text: str, name: str, count: int) -> list[int] | list[None]:
    """Returns the 1-based lines at which the tables [[name]] of a TOML text begin.

    Each is None if the text does not have `count` of them: tables may be written in other ways, which
    have no such lines.
    """
    lines = enumerate(text.splitlines(), 1)
    found = [number for number, line in lines if line.strip().startswith(f"[[{name}]]")]
    return found if len(found) == count else [None] * count


def _check(value: Any) -> None:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item)
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise tomllib.TOMLDecodeError("an integer of more than 64 bits")

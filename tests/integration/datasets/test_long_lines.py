"""JSON of many megabytes on one line: what is read, held and refused."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from irtoolkit.datasets.strictjson import read_members
from tests.unit.datasets.test_strictjson import Write, refusal


def test_a_long_line_is_read_in_a_window(tmp_path: Path) -> None:
    """200 MB in one line, of which a value has one: a few values are held, and no more."""
    value = json.dumps([("The quick brown fox. " * 50)[:1000]] * 1000)
    path = tmp_path / "x.json"
    with open(path, "w", encoding="ascii") as out:
        out.write("{")
        for number in range(200):
            out.write(", " * (number > 0) + f'"book{number}": {value}')
        out.write("}")
    assert path.stat().st_size > 200_000_000
    count = 0
    tracemalloc.start()
    try:
        for count, (line, key, item) in enumerate(read_members(path, "books"), 1):
            assert (line, key, len(item)) == (1, f"book{count - 1}", 1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 200
    assert peak < 16_000_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": "%s"', "the file ends where a comma"),
        ('{"a": "%s', "Unterminated string"),
        ('{"a": {"b": "%s\\ud800"}}', "half a surrogate pair"),
        ('{"a": "%s"} x', "not the end of the file"),
    ],
)
def test_damage_to_a_long_line(write: Write, text: str, found: str) -> None:
    path = write("x.json", "\n" + text % ("é\\n\\\\" * 2_000_000))
    error = refusal(path)
    assert (error.line, found in error.found) == (2, True)


def test_long_values_are_read(write: Write) -> None:
    value = {"a": "猫" * 4_000_000, "b": [0] * 500_000, "c": {str(n): n for n in range(100_000)}}
    found = read_members(write("x.json", json.dumps(value, ensure_ascii=False)), "x")
    assert {key: item for _, key, item in found} == value

"""Columns of any values, against plain lists and dicts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.datasets import cache, columns
from irtoolkit.datasets.cache import CacheWriter
from irtoolkit.datasets.columns import ColumnTexts, Rows, TableRows
from tests.unit.datasets.test_cache import SCHEMAS, made, records_of, table_of


@given(
    st.lists(st.text(alphabet="aé猫", max_size=9), max_size=40),
    st.integers(1, 9),
    st.integers(1, 30),
)
def test_what_is_written_is_read_back(lines: list[str], rows: int, characters: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_BATCH_ROWS", rows)
        patch.setattr(cache, "_BATCH_CHARACTERS", characters)
        writer = CacheWriter(Path(name), SCHEMAS)
        for line in lines:
            writer.add("lines", line, len(line))
            writer.add("letters", list(line))
        writer.close()
        cache._seal(Path(name), SCHEMAS)
        tables = cache._open(Path(name), SCHEMAS)
        assert tables is not None
        assert tables["lines"].to_pydict() == {"text": lines, "length": list(map(len, lines))}
        assert tables["letters"]["of"].to_pylist() == [list(line) for line in lines]
        for table in tables.values():
            for batch in table.to_batches():
                assert 1 <= len(batch) <= rows


VALUES = st.lists(st.text(alphabet="abcé猫 ", max_size=5), max_size=40)


LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def expected(values: Sequence[str]) -> list[tuple[int, str, int]]:
    return [(number, value, len(value)) for number, value in enumerate(values)]


def assert_same(rows: Sequence[Any], plain: list[Any]) -> None:
    assert len(rows) == len(plain)
    assert list(rows) == list(rows) == plain
    assert [rows[i] for i in range(-len(plain), len(plain))] == plain + plain
    assert list(reversed(rows)) == plain[::-1]
    for place in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            rows[place]


@given(VALUES, LENGTHS, st.integers(1, 9), st.data())
def test_rows_are_a_list(
    values: list[str], lengths: list[int], batch: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_BATCH_ROWS", batch)
        rows, plain = TableRows(table_of(values, lengths), made), expected(values)
        assert_same(rows, plain)
        for _ in range(3):
            part = data.draw(st.slices(len(plain)))
            rows, plain = rows[part], plain[part]
            assert isinstance(rows, Rows)
            assert_same(rows, plain)
        places = data.draw(st.lists(st.sampled_from(range(len(plain))))) if plain else []
        assert list(rows.at(places)) == [plain[place] for place in places]


@given(VALUES, LENGTHS, st.data())
def test_texts_are_a_list(values: list[str], lengths: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    count = data.draw(st.integers(0, len(values) - start))
    texts, plain = (
        ColumnTexts(table_of(values, lengths)["text"], start, count),
        values[start : start + count],
    )
    assert_same(texts, plain)
    part = data.draw(st.slices(count))
    assert texts[part] == plain[part]
    assert all(text in texts for text in plain)


@given(VALUES, LENGTHS, st.data())
def test_records_are_a_dict(values: list[str], lengths: list[int], data: st.DataObject) -> None:
    records = records_of(values, lengths)
    plain = {f"d{number}": row for number, row in enumerate(expected(values))}
    assert dict(records) == plain
    assert list(records) == list(records.keys()) == list(plain)
    assert list(records.items()) == list(plain.items())
    assert len(records) == len(plain)
    assert_same(records.values(), list(plain.values()))
    for key in ("", "d", "d-1", "D0", f"d{len(values)}"):
        assert key not in records
        assert records.get(key) is None
        with pytest.raises(KeyError):
            records[key]
    keys = data.draw(st.lists(st.sampled_from([*plain, "gone", "", "d 1"]), max_size=60))
    found = [plain[key] for key in keys if key in plain]
    assert list(records.many(keys)) == list(records.many(iter(keys))) == found

"""Files with any content."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.files import (
    read_lines,
)
from irtoolkit.base.ids import encode, id_array, rank_ids
from tests.unit.base.test_files import write_text


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"))))
def test_written_lines_are_read_back(tmp_path: Path, lines: list[str]) -> None:
    if lines and lines[0].startswith("\ufeff"):
        lines[0] = lines[0].lstrip("\ufeff")  # at the start of a file it is a byte order mark
    path = tmp_path / "x.txt"
    write_text(path, "".join(f"{line}\n" for line in lines))
    assert [line for _, line in read_lines(path)] == lines


@given(st.lists(st.text()))
def test_encoding_loses_nothing(items: list[str]) -> None:
    ids, codes = encode(items)
    assert [ids[code] for code in codes] == items
    assert len(set(ids)) == len(ids)


@given(st.lists(st.text(st.characters(codec="utf-8")), unique=True))
def test_ids_rank_by_utf8_bytes(items: list[str]) -> None:
    by_bytes = sorted(items, key=lambda item: item.encode("utf-8"))
    assert rank_ids(id_array(items)).tolist() == [by_bytes.index(item) for item in items]

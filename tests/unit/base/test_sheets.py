"""Sheets as people edit them: written to be read by spreadsheets, and read back strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.sheets import read_sheet, write_sheet


@pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.csv", ","), ("a.txt", "\t")])
def test_a_row_is_one_line_and_is_read_back(name: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write_sheet(path, ["id", "text"], [{"id": "1", "text": 'a "b",\n c'}, {"id": "2"}])
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == f"\ufeffid{mark}text"
    assert len(lines) == 3
    rows = list(read_sheet(path, ["id", "text"], "both"))
    assert rows == [(2, {"id": "1", "text": 'a "b", c'}), (3, {"id": "2", "text": ""})]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_columns_may_be_added_renamed_and_spaced(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"note{mark} key {mark}grade\n\nx{mark}1{mark}2\n{mark}{mark}\n", "utf-8")
    rows = list(read_sheet(path, ["id", "grade"], "", {"key": "id"}))
    assert rows == [(3, {"note": "x", "id": "1", "grade": "2"})]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id\n1\n", r"a.csv:1: no column 'grade' \(give it\)"),
        ("id,grade\n1,2\n3\n", "a.csv:3: 1 field, and 2 columns"),
        # An open quotation mark would take the rows below into one field.
        ('id,grade,text\n1,2,"open\n3,0,x\n4,1,y\n', "a.csv:2: a broken row: unexpected end"),
        ('id,grade\n1,2\n"3,2\n4,0\n', "a.csv:3: a broken row: unexpected end"),
        ("", "a.csv:1: no column 'id'"),
    ],
)
def test_damaged_sheets(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=problem):
        list(read_sheet(path, ["id", "grade"], "give it"))

"""Sheets of spreadsheets in countries that write a comma in numbers: semicolons separate columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.building.csfcube.queries import read_queries
from irtoolkit.building.csfcube.tsv import read_grades
from irtoolkit.datasets.local.tsv import tsv_rows
from tests.unit.building.csfcube.test_inputs import DOCS


@pytest.mark.parametrize("head", ["id;text", "qid;query", '"id";"text"', "id,text"])
def test_a_header_says_what_separates_columns(tmp_path: Path, head: str) -> None:
    mark = ";" if ";" in head else ","
    path = tmp_path / "t.tsv"
    path.write_text(f'{head}\n1{mark}a whale\n\n2{mark}"a{mark} ""b"""\n', "utf-8-sig")
    assert list(tsv_rows(path)) == [(2, "1", "a whale"), (4, "2", f'a{mark} "b"')]


@pytest.mark.parametrize("line", ["1;a whale", "1,a whale", "1;a; b"])
def test_without_a_header_the_message_names_what_separates(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(f"{line}\n")
    with pytest.raises(
        InputError, match=f"t.tsv:1: no tab; .*separated by '{line[1]}'.*id{line[1]}text"
    ):
        list(tsv_rows(path))


@pytest.mark.parametrize("mark", ["\t", ";", ","])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_sheets_of_grades_and_queries(tmp_path: Path, mark: str, encoding: str) -> None:
    path = tmp_path / "a.tsv"
    rows = [["query_id", "doc_id", "title", "grade"], ["q", "d", "x", "2"], ["q", "e", "y", ""]]
    path.write_text("".join(mark.join(row) + "\r\n" for row in rows), encoding)
    assert read_grades(path, lambda _: "") == {("q", "d"): 2, ("q", "e"): None}
    doc = next(name for name, each in DOCS.items() if "method" in " ".join(each.labels))
    path.write_text(f"pid{mark}facet\r\n{doc}{mark}method\r\n", encoding)
    (asked,) = read_queries(path, DOCS)
    assert asked.query.query_id == f"{doc}_method"

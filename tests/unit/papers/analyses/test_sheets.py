"""Sheets that people fill in: written, read, refused, and counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.papers.analyses._sheets import Sheet, majority
from tests.conftest import Answer

SHEET = Sheet(("query",), ("text",), {"label": ("yes", "no")})


def fill(path: Path, target: Path, labels: list[str], column: str = "label") -> Path:
    """A copy of a sheet in which the first rows have labels."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, label in zip(rows, labels, strict=False):
        row[column] = label
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return target


def test_what_is_written_is_read_once_it_is_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    SHEET.write(path, [{"query": "q1", "text": 'a, "b"\nc'}, {"query": "q2", "text": "d"}])
    assert len(path.read_text("utf-8").splitlines()) == 3
    with pytest.raises(InputError, match="nothing is filled in"):
        SHEET.read([path])
    done = fill(path, tmp_path / "done.csv", ["yes"])
    assert SHEET.read([done]) == {"done.csv": {("q1",): {"query": "q1", "label": "yes"}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query,text\nq1,a\n", r"x.csv:1: no column 'label'"),
        ("query,text,label\nq1,a,maybe\n", r"x.csv:2: label is 'maybe', not one of yes, no"),
        ("query,text,label\nq1,a,yes\nq1,a,no\n", r"x.csv:3: q1 is there twice"),
        ("", r"no column 'query'"),
    ],
)
def test_damaged_sheets_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        SHEET.read([tmp_path / "x.csv"])


def test_the_majority_decides() -> None:
    assert majority(["a", "b", "a"]) == "a"
    assert majority(["a", "b"]) is None
    assert majority([]) is None


def test_types_of_quotations_are_counted(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    command = ("analyse", "relic-types", "--sample", "--queries", "4")
    without = irtoolkit(*command)
    assert without.status == 2
    assert "--sheet FILE writes a sheet" in without.err
    sheet = tmp_path / "sheet.csv"
    assert irtoolkit(*command, "--sheet", sheet).status == 0
    again = sheet.read_bytes()
    assert irtoolkit(*command, "--sheet", sheet).status == 0
    assert sheet.read_bytes() == again  # the draw has a seed
    first = fill(sheet, tmp_path / "a.csv", ["claim", "claim", "other", "paraphrase"])
    second = fill(sheet, tmp_path / "b.csv", ["claim", "claim", "paraphrase"])
    said = irtoolkit(*command, "--sheets", first, second, "--format", "json")
    assert said.status == 0, said.err
    (table,) = json.loads(said.out)["tables"]
    # The third has one vote each, the fourth one vote.
    assert {row["label"]: row["measured"]["examples"] for row in table["rows"]} == {
        "claim": 2, "paraphrase": 1, "other": 0, "damaged": 0,
    }  # fmt: skip
    assert "of 4 examples" not in said.out
    assert "of 1 examples no label" in said.out
    other = irtoolkit("analyse", "relic-types", "relic/sample/train", "--sheets", first)
    assert "is not in relic/sample/train" in other.err

"""EgRet's annotations: the sheet, what is read from it, and the paper's tables of it by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from irtoolkit.base.errors import InputError
from irtoolkit.papers.analyses._annotations import unigram_overlap
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.egret_annotation import EVERYONE, EgretAnnotation
from irtoolkit.papers.analyses.result import AnalysisResult
from tests.conftest import Answer
from tests.unit.papers.analyses.planted import rows_of

DEV = "egret/sample/dev"
Rows = list[dict[str, str]]


def drawn(path: Path, datasets: list[str] | None = None, **settings: Any) -> Rows:
    """The rows of a sheet that is written."""
    analyse(EgretAnnotation(**settings), datasets or [DEV], sheet=path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def put(path: Path, rows: Rows, mark: str = "\t") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows(rows)
    return path


def filled(rows: Rows, answers: list[str]) -> Rows:
    """Rows with answers such as "yes real no": valid, type, personal; "" leaves one out."""
    found = []
    for row, answer in zip(rows, answers, strict=False):
        words = dict(zip(("valid", "type", "personal"), answer.split(), strict=False))
        copied = {"example": " ".join(row["text"].split()[-3:]), "anchor": row["text"].split()[0]}
        found.append({**row, **words, **(copied if words.get("valid") == "yes" else {})})
    return found


def measured(result: AnalysisResult, table: str) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """As `rows_of`, without the rows of the paper, some of which have the same names."""
    (found,) = (one for one in result.findings.tables if one.name == table)
    return {row.names: row.values for row in found.rows if row.values}


def test_the_sheet_is_shared_out(tmp_path: Path) -> None:
    rows = drawn(tmp_path / "a.tsv", queries=9, annotators=3, shared=3)
    assert [row["for"] for row in rows] == [EVERYONE] * 3 + ["1", "1", "2", "2", "3", "3"]
    assert len({row["query"] for row in rows}) == 9
    again = (tmp_path / "a.tsv").read_bytes()
    drawn(tmp_path / "b.tsv", queries=9, annotators=3, shared=3)
    assert (tmp_path / "b.tsv").read_bytes() == again
    other = drawn(tmp_path / "c.tsv", queries=9, annotators=3, shared=3, seed=1)
    assert {row["query"] for row in other} != {row["query"] for row in rows}
    assert {row["for"] for row in drawn(tmp_path / "d.csv", queries=5, annotators=1)} == {EVERYONE}
    both = drawn(tmp_path / "e.tsv", [DEV, "egret/sample/train"], queries=4, shared=2)
    assert sorted(row["dataset"] for row in both) == [DEV] * 4 + ["egret/sample/train"] * 4


def test_the_tables_by_hand(tmp_path: Path) -> None:
    rows = drawn(tmp_path / "sheet.tsv", queries=6, shared=6)
    ours = ["yes real no", "yes real no", "yes hypothetical yes", "yes hypothetical no", "no", ""]
    theirs = ["yes real no", "yes hypothetical no", "yes hypothetical yes", "yes real no", "no",
              "yes real no"]  # fmt: skip
    sheets = [put(tmp_path / f"{name}.tsv", filled(rows, answers))
              for name, answers in (("anna", ours), ("ben", theirs))]  # fmt: skip
    result = analyse(EgretAnnotation(), [DEV], sheets=sheets)
    assert rows_of(result, "valid")[DEV,] == (5, 6, pytest.approx(500 / 6))
    # Two of the types are undecided.
    assert rows_of(result, "kinds")[DEV,] == (5, pytest.approx(200 / 3), pytest.approx(100 / 3), 20)
    assert "2 labels were written equally often" in " ".join(result.findings.notes)
    agreement = measured(result, "agreement")
    kinds = [[0, 0, 1, 1], [0, 1, 1, 0]]
    expected = (4, 50, cohen_kappa_score(*kinds))
    assert agreement["type",][:3] == pytest.approx(expected)
    assert agreement["valid",][:3] == pytest.approx((5, 100, 1))
    assert agreement["anchor",] == (4, None, None, None, 1)
    units = measured(result, "units")
    assert units[DEV,] == pytest.approx((5, 1, 1, 1, 3))
    assert units["personal",][0] == 1


def test_the_papers_figures_are_marked(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    rows = drawn(tmp_path / "sheet.tsv", queries=3)
    done = put(tmp_path / "done.tsv", filled(rows, ["yes real no"] * 3))
    said = irtoolkit("analyse", "egret-annotation", DEV, done)
    assert said.status == 0, said.err
    lines = said.out.splitlines()
    assert any(line.split()[:3] == ["Books3", "reported", "85"] for line in lines)
    assert any(line.split()[:3] == [DEV, "measured", "3"] for line in lines)
    assert "Agreement" not in said.out  # of one person
    data = json.loads(irtoolkit("analyse", "egret-annotation", DEV, done, "--format", "json").out)
    assert {table["name"] for table in data["tables"]} == {"valid", "kinds", "units"}


def test_words_of_an_anchor_are_those_of_the_text(tmp_path: Path) -> None:
    rows = filled(drawn(tmp_path / "sheet.tsv", queries=3), ["yes real no"] * 3)
    words = rows[0]["text"].split()
    for anchor in (f"{words[0].upper()}, {words[1]}", f"{words[0]} ... {words[-1]}", f"“{words[2]}”"):  # fmt: skip
        rows[0]["anchor"] = anchor
        analyse(EgretAnnotation(), [DEV], sheets=[put(tmp_path / "done.tsv", rows)])
    rows[0]["anchor"] = "words of another text"
    with pytest.raises(InputError, match="anchor 'words of another text' is not in the text"):
        analyse(EgretAnnotation(), [DEV], sheets=[put(tmp_path / "done.tsv", rows)])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"valid": "maybe"}, r"done.tsv:2: valid is 'maybe', not one of yes, no"),
        ({"type": "imagined"}, r"done.tsv:2: type is 'imagined', not one of real, hypothetical"),
        ({"query": "q99"}, r"done.tsv: q99 is not in egret/sample/dev"),
        ({"dataset": "egret/dev"}, "an example of egret/dev, which is not among egret/sample/dev"),
        ({"type": ""}, r": type is empty"),
        ({"valid": ""}, r": valid is empty, and type is filled in"),
        ({"valid": "no"}, r": valid is no, and type is filled in"),
    ],
)
def test_edited_sheets_are_refused(edit: dict[str, str], message: str, tmp_path: Path) -> None:
    rows = filled(drawn(tmp_path / "sheet.tsv", queries=3), ["yes real no"] * 3)
    rows[0] |= edit
    with pytest.raises(InputError, match=message):
        analyse(EgretAnnotation(), [DEV], sheets=[put(tmp_path / "done.tsv", rows)])


def test_settings_and_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--sheet FILE writes a sheet to fill in"):
        analyse(EgretAnnotation(), [DEV])
    with pytest.raises(InputError, match="0 queries, 2 annotators, 50 shared"):
        analyse(EgretAnnotation(queries=0), [DEV])
    rows = filled(drawn(tmp_path / "sheet.tsv", queries=3), ["yes real no"] * 3)
    (tmp_path / "other").mkdir()
    sheets = [put(tmp_path / "done.tsv", rows), put(tmp_path / "other" / "done.tsv", rows)]
    with pytest.raises(InputError, match="two sheets have one name"):
        analyse(EgretAnnotation(), [DEV], sheets=sheets)


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [("A fish", "a FISH!", 1), ("a fish", "the bird", 0), ("a b", "a b c d", 2 / 3),
     ("a a b", "a b b", 2 / 3), ("", "", 1), ("a", "", 0)],
)  # fmt: skip
def test_overlap(one: str, other: str, overlap: float) -> None:
    assert unigram_overlap(one, other) == pytest.approx(overlap)
    assert unigram_overlap(other, one) == pytest.approx(overlap)

"""Tables: the same cells as text, CSV and LaTeX."""

from __future__ import annotations

import pytest

from irtoolkit.base.tables import TextTable

# What stands for itself in LaTeX's text is everything but these.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def lines_of(table: TextTable, form: str = "text") -> list[str]:
    return table.render(form).split("\n")


def latex_rows(table: TextTable) -> list[str]:
    """What stands between the rules of a LaTeX table, headers first."""
    lines = lines_of(table, "latex")
    top, middle, bottom = (lines.index(rf"\{name}rule") for name in ("top", "mid", "bottom"))
    assert middle == top + 2
    return [lines[top + 1], *lines[middle + 1 : bottom]]


# -- text ----------------------------------------------------------------------------------------


def test_words_stand_left_and_numbers_right() -> None:
    table = TextTable(["run", "AP", "n"], [["a", 0.5, 7], ["longer", 12.25, 1000]], places=2)
    assert lines_of(table) == [
        "run        AP     n",
        "------  -----  ----",
        "a        0.50     7",
        "longer  12.25  1000",
    ]


@pytest.mark.parametrize(
    ("places", "value", "shown"),
    [
        (4, 0.123456, "0.1235"),
        (0, 2.5, "2"),
        (2, 1.0, "1.00"),
        (2, float("nan"), "nan"),
    ],
)
def test_floats_have_the_places_asked_for(places: int, value: float, shown: str) -> None:
    table = TextTable(["x"], [[value]], places=places)
    assert lines_of(table)[2].strip() == shown
    assert latex_rows(table)[1] == rf"{shown} \\"


# -- CSV -----------------------------------------------------------------------------------------


# -- LaTeX ---------------------------------------------------------------------------------------


def test_latex_is_a_booktabs_table() -> None:
    table = TextTable(["run", "AP", "n"], [["a", 0.5, 7], ["b", None, 10]], places=2)
    assert lines_of(table, "latex") == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"run & AP & n \\",
        r"\midrule",
        r"a & 0.50 & 7 \\",
        r"b & - & 10 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_row_of_latex_that_begins_with_a_bracket_is_no_argument_of_the_line_before() -> None:
    table = TextTable(["[x]"], [["[1] first"]])
    assert latex_rows(table) == [r"{}[x] \\", r"{}[1] first \\"]


@pytest.mark.parametrize("text", ["\nafter a break", "first\nsecond", "three\n\nparts\nin all"])
def test_a_title_or_note_of_several_lines_stays_a_comment(text: str) -> None:
    for table in (TextTable(["x"], [["a"]], text), TextTable(["x"], [["a"]], None, [text])):
        lines = lines_of(table, "latex")
        before = lines[: lines.index(r"\begin{tabular}{l}")]
        assert all(not line.strip() or line.startswith("%") for line in before)
        assert text.split("\n")[-1] in before[-1]

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
        (2, 2.675, "2.67"),  # in binary it is a little less
        (0, 2.5, "2"),
        (3, -0.0625, "-0.062"),
        (2, 1.0, "1.00"),
        (2, float("inf"), "inf"),
        (2, float("nan"), "nan"),
    ],
)
def test_floats_have_the_places_asked_for(places: int, value: float, shown: str) -> None:
    table = TextTable(["x"], [[value]], places=places)
    assert lines_of(table)[2].strip() == shown
    assert latex_rows(table)[1] == rf"{shown} \\"


def test_nothing_is_shown_as_a_dash_and_left_empty_in_csv() -> None:
    table = TextTable(["a", "b", "c"], [[None, 1.0, None], ["x", None, None]])
    assert [line.split() for line in lines_of(table)[2:]] == [
        ["-", "1.0000", "-"],
        ["x", "-", "-"],
    ]
    assert lines_of(table, "csv")[1:] == [",1.0,", "x,,"]
    assert latex_rows(table)[1:] == [r"- & 1.0000 & - \\", r"x & - & - \\"]


# -- CSV -----------------------------------------------------------------------------------------


def test_csv_quotes_what_would_be_taken_apart() -> None:
    cells = ["plain", "a,b", 'say "it"', "two\nlines", " padded "]
    rendered = TextTable(["h,1", "h2", "h3", "h4", "h5"], [cells]).render("csv")
    assert rendered == "h,1,h2,h3,h4,h5\n".replace("h,1", '"h,1"') + (
        'plain,"a,b","say ""it""","two\nlines", padded '
    )


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


def test_title_and_notes_are_comments_in_latex() -> None:
    lines = lines_of(TextTable(["x"], [["a"]], "NDCG%20 & more", ["one", "", "two"]), "latex")
    begin = lines.index(r"\begin{tabular}{l}")
    assert lines[:begin] == ["% NDCG%20 & more", "% one", "% two"]


@pytest.mark.parametrize("text", ["\nafter a break", "first\nsecond", "three\n\nparts\nin all"])
def test_a_title_or_note_of_several_lines_stays_a_comment(text: str) -> None:
    for table in (TextTable(["x"], [["a"]], text), TextTable(["x"], [["a"]], None, [text])):
        lines = lines_of(table, "latex")
        before = lines[: lines.index(r"\begin{tabular}{l}")]
        assert all(not line.strip() or line.startswith("%") for line in before)
        assert text.split("\n")[-1] in before[-1]

"""TREC text, line by line: what is taken, what is refused, and how a refusal reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.runs import trec
from irtoolkit.runs.columns import RunColumns

Write = Callable[..., Path]
# line, query, document, rank, score as a float, tag
Row = tuple[int, str, str, int, float, str]

GOOD = "q1 Q0 d1 1 0.5 t\n"


def rows_of(columns: RunColumns) -> list[Row]:
    """The rows of a parsed run as plain tuples."""
    return [
        (
            int(columns.lines[i]),
            columns.query_ids[columns.queries[i]],
            columns.doc_ids[columns.docs[i]],
            int(columns.ranks[i]),
            float(columns.scores[i]),
            columns.tags[columns.tag[i]],
        )
        for i in range(len(columns.lines))
    ]


def refused(path: Path, line: int | None = None) -> InputError:
    """The error that reading a run ends with, known to name its file and the line asked for."""
    with pytest.raises(InputError) as caught:
        trec.parse_run(path)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    return caught.value


# -- runs that are taken -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "q1\tQ0\td1\t1\t0.5\tt\n",
        "q1  Q0   d1 1    0.5 t\n",
        "  q1 Q0 d1 1 0.5 t\n",
        "q1 Q0 d1 1 0.5 t   \n",
        "\tq1 Q0 d1 1 0.5 t\t\n",
        "q1 \t Q0 d1\t1 0.5\t\tt\n",
        "q1\tQ0 d1\t1 0.5\tt\n",
        "q1\x0bQ0\x0cd1 1 0.5 t\n",
        "q1 Q0 d1 1 0.5 t\r\n",
        "q1 Q0 d1 1 0.5 t",
        "\nq1 Q0 d1 1 0.5 t\n",
        "q1 Q0 d1 1 0.5 t\n\n   \n\t\n",
        "\ufeffq1 Q0 d1 1 0.5 t\n",
        "\ufeffq1\tQ0\td1\t1\t0.5\tt\r\n",
        "q1 Q0 d1 1 5e-1 t\n",
        "q1 Q0 d1 1 .5 t\n",
        "q1 Q0 d1 1 +0.5 t\n",
        "q1 Q0 d1 +1 0.5 t\n",
        "q1 Q0 d1 001 0.500 t\n",
        "q1 Q0 d1 1 0000005E-0001 t\n",
    ],
    ids=ascii,
)
def test_many_ways_to_write_one_row(write: Write, line: str) -> None:
    path = write("x.run", line)
    row = 1 + line.startswith("\n")
    assert rows_of(trec.parse_run(path)) == [(row, "q1", "d1", 1, 0.5, "t")]


@pytest.mark.parametrize(
    "name",
    [
        "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "n/a", "#N/A", "-nan", "inf",
        "true", "False", "0", "007", "1.0", "1e5", "-1", "0x10", "2024-01-01", "12:30",
        '"quoted"', '"', "'", "a,b", "a\\nb", "#comment", "Q0", "\u00e9", "\u6f22\u5b57", "\U0001f600",
        "a\u00a0b", "\u00a0", "a\u2003b", "a\u3000b", "a\u2028b", "a\x85b", "e\u0301", "\u200b", "\u202e",
    ],
    ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("gap", [" ", "\t", "  "], ids=["space", "tab", "two-spaces"])
def test_ids_are_text_and_nothing_else(write: Write, name: str, gap: str) -> None:
    """No id is a number, a missing value or a quotation; only ASCII white space ends one."""
    lines = [[name, "Q0", name, "1", "2", "t"], [name, "Q0", "other", "2", "1", "t"]]
    columns = trec.parse_run(write("x.run", "".join(gap.join(line) + "\n" for line in lines)))
    assert columns.query_ids.tolist() == [name]
    assert columns.doc_ids.tolist() == [name, "other"]
    assert {type(value) for value in [*columns.query_ids, *columns.doc_ids]} == {str}


@pytest.mark.parametrize(
    "control", ["\x00", "\x1b", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\ufeff"]
)
@pytest.mark.parametrize("rest", ["", "\u00e9"], ids=["ascii", "not-ascii"])
def test_what_other_tools_cut_or_split_at_is_refused(write: Write, control: str, rest: str) -> None:
    """C's strings end at a NUL; Python's str takes separator controls for white space."""
    found = f"the line holds the character U+{ord(control):04X}"
    rows = f"q1 Q0 c 1 0.7 t\nq1 Q0 d{control}1{rest} 2 0.5 t\n"
    assert refused(write("x.run", rows), 2).found == found
    with pytest.raises(InputError) as caught:
        trec.parse_qrels(write("x.qrels", f"q1 0 c 1\nq1 0 {control}d{rest} 1\n"))
    assert (caught.value.found, caught.value.line) == (found, 2)


@pytest.mark.parametrize("line", ["#1 0 d1 1", "# Q0 d1 1"])
def test_a_query_may_begin_with_the_mark_of_a_comment(write: Write, line: str) -> None:
    assert trec.parse_qrels(write("x.qrels", f"{line}\n")).query_ids.tolist() == [line.split()[0]]


@pytest.mark.parametrize("document", ["d\r1", "d\r\u00e9"], ids=ascii)
def test_a_carriage_return_inside_a_line_is_white_space(write: Write, document: str) -> None:
    assert "7 fields instead of 6" in refused(write("x.run", f"q1 Q0 {document} 1 2 t\n"), 1).found


def test_a_file_of_several_blocks_has_one_vocabulary(write: Write) -> None:
    names = [str(i) * (1 << 20) for i in range(10)]
    lines = [f"q{n} Q0 {name} {i} {-i} t\n" for n in (1, 2) for i, name in enumerate(names)]
    columns = trec.parse_run(write("x.run", "".join(lines)))
    assert columns.query_ids.tolist() == ["q1", "q2"]
    assert columns.queries.tolist() == [0] * 10 + [1] * 10
    assert columns.doc_ids.tolist() == names
    assert columns.docs.tolist() == [*range(10), *range(10)]
    assert columns.tags.tolist() == ["t"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-1.5", -1.5),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("25e-2", 0.25),
        ("1.", 1.0),
        (".25", 0.25),
        ("-0", 0.0),
        ("1e38", 9.999999680285692e37),  # 1e38 in single precision
        ("-1e38", -9.999999680285692e37),
        ("1e-50", 0.0),  # too small is nearly nothing, and stays finite
        ("0.1", 0.10000000149011612),
        ("16777217", 16777216.0),  # 2^24 + 1 has no single-precision form
    ],
)
def test_scores_are_read_in_single_precision(write: Write, text: str, value: float) -> None:
    assert trec.parse_run(write("x.run", f"q1 Q0 d1 1 {text} t\n")).scores.tolist() == [value]


# -- runs that are refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "score",
    [
        "abc", "NaN", "nan", "inf", "-inf", "Infinity", "1e39", "-1e39", "1e400", "3.5e38", "1_0",
        "1,5", "0x1p3", "0x10", "--1", "1e", "e5", ".", "+", "1.2.3", "None", "1f", "1d5", "True",
        "\uff11\uff0e\uff15", "\u0661", "\u00a01.5", "1.5\u00a0", "\u2003" + "1", "\u00bd", "\u22121",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_score_that_is_no_finite_decimal(write: Write, score: str) -> None:
    """Each of these is 0, or infinite, or something else again, to C's atof."""
    error = refused(write("x.run", f"{GOOD}q1 Q0 d2 2 {score} t\n"), 2)
    assert error.found == f"score {score!r} is not a finite single-precision number"
    assert error.remedy is not None


@pytest.mark.parametrize("digits", [19, 20, 400, 5000])
def test_a_rank_beyond_any_computer_word(write: Write, digits: int) -> None:
    assert "rank" in refused(write("x.run", f"{GOOD}q1 Q0 d2 {'9' * digits} 0.4 t\n"), 2).found


def test_a_document_twice_names_both_lines(write: Write) -> None:
    path = write("x.run", GOOD + "q1 Q0 d2 2 0.4 t\nq1 Q0 d1 3 0.3 t\n")
    error = refused(path, 3)
    assert error.found == "document d1 is listed twice for query q1, first at line 1"
    assert error.remedy == "keep one of the two lines"


def test_a_contradiction_behind_equal_ranks(write: Write) -> None:
    """Both rows of rank 1 must score at least what rank 2 does."""
    path = write("x.run", "q1 Q0 a 1 9 t\nq1 Q0 b 1 2 t\nq1 Q0 c 2 3 t\n")
    assert "rank 2 has a higher score than rank 1" in refused(path, 3).found


@pytest.mark.parametrize("data", ["", "\n", "\r\n", "\n\n\n", "  \n\t\n", "\ufeff", "\ufeff\n"])
def test_a_run_without_rows(write: Write, data: str) -> None:
    error = refused(write("x.run", data))
    assert error.found == "no rows"
    assert error.remedy == "a run needs at least one line"


# -- collecting every problem --------------------------------------------------------------------


# -- the two readers of runs ---------------------------------------------------------------------


# -- qrels ---------------------------------------------------------------------------------------


def judgments_of(columns: trec.QrelColumns) -> list[tuple[int, str, str, int]]:
    return [
        (
            int(columns.lines[i]),
            columns.query_ids[columns.queries[i]],
            columns.doc_ids[columns.docs[i]],
            int(columns.grades[i]),
        )
        for i in range(len(columns.lines))
    ]


def refused_qrels(path: Path, line: int | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        trec.parse_qrels(path)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    return caught.value


@pytest.mark.parametrize(
    "line",
    [
        "q1 0 d1 2\n",
        "q1 0 d1 2",
        "q1 0 d1 2\r\n",
        "\ufeffq1 0 d1 2\n",
        "q1\t0\td1\t2\n",
        "  q1  Q0   d1 \t 2  \n",
        "q1 0 d1 +2\n",
        "q1 0 d1 02\n",
        "q1 anything d1 2\n\n \n",
    ],
    ids=ascii,
)
def test_many_ways_to_write_one_judgment(write: Write, line: str) -> None:
    assert judgments_of(trec.parse_qrels(write("x.qrels", line))) == [(1, "q1", "d1", 2)]


@pytest.mark.parametrize("data", ["", "\n", "\r\n \t\r\n", "\ufeff"])
def test_qrels_without_rows(write: Write, data: str) -> None:
    error = refused_qrels(write("x.qrels", data))
    assert (error.found, error.remedy) == ("no rows", "give a file that has some")


def test_every_problem_of_qrels_is_reported(write: Write) -> None:
    path = write("x.qrels", "q1 0 d1 1\nq1 0 d2\nq1 0 d3 x\nq1 0 d1 2\nq1 0 d4 1.5\nq1 0 d5 0\n")
    found: list[InputError] = []
    columns = trec.parse_qrels(path, found.append)
    assert sorted((error.line or 0, error.found.split(" ")[0]) for error in found) == [
        (2, "3"),
        (3, "grade"),
        (4, "document"),
        (5, "grade"),
    ]
    assert [row[2:] for row in judgments_of(columns)] == [("d1", 1), ("d1", 2), ("d5", 0)]


def test_qrels_without_one_good_row(write: Write) -> None:
    found: list[InputError] = []
    assert judgments_of(trec.parse_qrels(write("x.qrels", "a\n"), found.append)) == []
    assert [error.found for error in found] == ["1 field instead of 4", "no rows"]

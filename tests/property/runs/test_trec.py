"""Any TREC text, well formed or nearly, against a reader restated in plain Python."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.runs import trec
from irtoolkit.runs.columns import RunColumns
from irtoolkit.runs.fast_trec import read_regular
from irtoolkit.runs.precision import Precision
from tests.unit.runs.test_trec import Row, judgments_of, rows_of


def same(one: RunColumns, other: RunColumns) -> bool:
    """Whether two readings agree to the bit, vocabularies included."""
    return (
        rows_of(one) == rows_of(other)
        and one.scores.tobytes() == other.scores.tobytes()
        and one.scores.dtype == other.scores.dtype
        and all(
            getattr(one, name).tolist() == getattr(other, name).tolist()
            for name in ("query_ids", "doc_ids", "iterations", "tags")
        )
    )


WORD = st.text(
    st.characters(codec="utf-8", exclude_categories=("Zs", "Zl", "Zp", "Cc"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=6,
)  # fmt: skip


SCORE = st.floats(
    width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100
)


REGULAR = st.lists(
    st.tuples(WORD, WORD, WORD, st.integers(-(2**40), 2**40).map(str), SCORE.map(repr), WORD),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("precision", get_args(Precision))
@given(
    REGULAR, st.sampled_from(" \t"), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans()
)
def test_both_readers_agree_on_every_regular_file(
    tmp_path: Path,
    precision: Precision,
    rows: list[tuple[str, ...]],
    gap: str,
    end: str,
    last: bool,
    mark: bool,
) -> None:
    path = tmp_path / "x.run"
    text = "\ufeff" * mark + end.join(gap.join(row) for row in rows) + end * last
    path.write_bytes(text.encode())
    fast = read_regular(path, precision)
    assert fast is not None, "a regular file must not take the slow way"
    assert same(fast, trec._careful_run(path, trec.raise_error, precision))
    assert [row[1:3] for row in rows_of(fast)] == [(row[0], row[2]) for row in rows]


def single(text: str) -> float:
    """A decimal number rounded to single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(float(text)))


def unfit(data: bytes) -> bool:
    """Whether a file holds what other tools cut or split a field at."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return any(c in "\x7f\ufeff" or (c < " " and c not in "\t\n\v\f\r") for c in text)


def restated(data: bytes) -> list[Row] | None:
    """What a run file says, read as slowly and plainly as can be; None when it must be refused."""
    if unfit(data):
        return None
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        fields = line.split()  # bytes split at ASCII white space, and at nothing else
        try:
            query, _, doc, rank, score, tag = [field.decode("utf-8") for field in fields]
        except ValueError:  # which a UnicodeDecodeError is, too
            if not fields:
                continue
            return None
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", rank):
            return None
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", score):
            return None
        if not np.isfinite(single(score)):
            return None
        rows.append((number, query, doc, int(rank), single(score), tag))
    if len({row[1:3] for row in rows}) < len(rows):
        return None
    for _, query, _, rank, score, _ in rows:
        for _, other_query, _, other_rank, other_score, _ in rows:
            if query == other_query and rank < other_rank and score < other_score:
                return None
    return rows or None


FIELD = st.sampled_from(
    ["q1", "q2", "Q0", "d1", "d2", "d3", "1", "2", "3", "0.5", "1", "-2", "1e2", "1e39", "nan", "x",
     "1_0", "0x1", "+1", ".5", "5.", "t", "\u00e9", "a\u00a0b", "\u0661", "NA", '"', "\ufeff", "\x1c", "\x00"]
)  # fmt: skip


GAP = st.sampled_from([" ", " ", " ", " ", "\t", "  ", " \t", "\x0b", "\u00a0", "\r", ""])


END = st.sampled_from(["\n", "\n", "\n", "\n", "\r\n", "\n\n", "\r", ""])


@st.composite
def nearly_lines(draw: st.DrawFn) -> bytes:
    """Files of lines that are nearly, or quite, those of a run."""
    text = draw(st.sampled_from(["", "", "\ufeff"]))
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 2)):
            gap = draw(st.sampled_from([" ", "\t", "  "]))
            fields = ["q1", "Q0", draw(st.sampled_from("abcdef")), "1", draw(FIELD), "t"]
            fields[draw(st.integers(0, 5))] = draw(FIELD)
            text += gap.join(fields)
        else:
            text += "".join(draw(FIELD) + draw(GAP) for _ in range(draw(st.integers(5, 7))))
        text += draw(END)
    return text.encode()


def check_against_restatement(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    expected = restated(data)
    if expected is None:
        with pytest.raises(InputError) as caught:
            trec.parse_run(path)
        assert caught.value.file == str(path)
    else:
        assert rows_of(trec.parse_run(path)) == expected


@given(nearly_lines())
@example(b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 1 0.7 t\n")
@example(b"q1 Q0 d1 2 0.5 t\n\n\nq1\tQ0 d2 1 0.5\tt")
def test_what_is_read_is_what_the_file_says(tmp_path: Path, data: bytes) -> None:
    check_against_restatement(tmp_path / "x.run", data)


@pytest.mark.parametrize("precision", get_args(Precision))
@given(nearly_lines())
@example(b"q1 Q0 d1 0x1F 0.5 t\n")
@example(b"q1 Q0 d1 1 0.5 t\rq1 Q0 d2 2 0.4 t\r")
@example(b"q1 Q0 d1 1\t 0.5 t\n")
@example(b"q1\tQ0\td1\t1 \t0.5\tt\n")
@example(b"q1\tQ0\td 1\t1\t0.5\tt\n")
@example(b"q1 Q0  1 0.5 t\n")
def test_the_fast_reader_takes_nothing_that_the_careful_one_does_not(
    tmp_path: Path, precision: Precision, data: bytes
) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(data)
    fast = read_regular(path, precision)
    if fast is not None:
        assert same(fast, trec._careful_run(path, trec.raise_error, precision))


@given(st.binary(max_size=60))
@example(b"\x1f\x8b\x08\x00")
@example(b"q1 Q0 d1 1 0.5 t\n\xef\xbb\xbf")
def test_garbage_is_an_input_error(tmp_path: Path, data: bytes) -> None:
    check_against_restatement(tmp_path / "x.run", data)


@given(st.integers(0, 2**32 - 1))
def test_scores_written_as_numpy_prints_them_come_back(tmp_path: Path, bits: int) -> None:
    value = np.frombuffer(struct.pack("<I", bits), dtype="<f4")[0]
    assume(np.isfinite(value))
    path = tmp_path / "x.run"
    path.write_text(f"q1 Q0 d1 1 {value!s} t\n")
    assert trec.parse_run(path).scores.tobytes() == np.float32(value).tobytes()


@given(
    st.lists(st.tuples(WORD, WORD, st.integers(-1000, 1000)), min_size=1, unique_by=lambda r: r[:2])
)
def test_qrels_say_what_the_file_says(tmp_path: Path, rows: list[tuple[str, str, int]]) -> None:
    path = tmp_path / "x.qrels"
    path.write_bytes("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows).encode())
    assert [row[1:] for row in judgments_of(trec.parse_qrels(path))] == rows


def restated_qrels(data: bytes) -> list[tuple[int, str, str, int]] | None:
    """What a qrels file says, read plainly; None when it must be refused."""
    if unfit(data):
        return None
    rows: list[tuple[int, str, str, int]] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        fields = line.split()
        try:
            query, _, doc, grade = [field.decode("utf-8") for field in fields]
        except ValueError:
            if not fields:
                continue
            return None
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", grade) or abs(int(grade)) > 1_000_000:
            return None
        rows.append((number, query, doc, int(grade)))
    return rows if rows and len({row[1:3] for row in rows}) == len(rows) else None


@st.composite
def nearly_qrels(draw: st.DrawFn) -> bytes:
    """Files of lines that are nearly, or quite, those of qrels."""
    text = ""
    for _ in range(draw(st.integers(1, 4))):
        fields = [draw(st.sampled_from(["q1", "q2"])), "0", draw(st.sampled_from("abcdef")), "1"]
        fields[draw(st.integers(0, 3))] = draw(FIELD)
        text += draw(st.sampled_from([" ", "\t", "  "])).join(fields) + draw(END)
    return text.encode()


@given(nearly_qrels() | st.binary(max_size=40))
@example(b"q1 0 d1 1\r\n\r\nq1 0 d2 -1")
def test_qrels_are_what_the_file_says_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.qrels"
    path.write_bytes(data)
    expected = restated_qrels(data)
    if expected is None:
        with pytest.raises(InputError):
            trec.parse_qrels(path)
    else:
        assert judgments_of(trec.parse_qrels(path)) == expected

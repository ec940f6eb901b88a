"""What an error says is one line, whatever a file had in it."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("query 'a\nb' is not there", r"query 'a\nb' is not there"),
        ("query \x1b[2J is not there", r"query \x1b[2J is not there"),
        ("Zitat „wie dieses“ 引用", "Zitat „wie dieses“ 引用"),
    ],
)
def test_what_cannot_be_printed_is_written_out(found: str, said: str) -> None:
    error = InputError(found, file="a.tsv", line=3, remedy=found)
    assert str(error) == f"a.tsv:3: {said} ({said})"
    assert error.found == said


def test_what_is_very_long_loses_its_middle() -> None:
    error = InputError(f"the columns are {['fid'] * 10_000}, not ['pid', 'fid']")
    assert len(str(error)) <= 2_000
    assert error.found.startswith("the columns are ['fid', 'fid'")
    assert error.found.endswith("'fid'], not ['pid', 'fid']")
    named = InputError("no such file", file="9" * 5_000)
    assert str(named).startswith("999")
    assert len(str(named)) < 1_000

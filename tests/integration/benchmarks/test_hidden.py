"""What benchmarks/hidden.py takes of the keepers of hidden data."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from tests.conftest import ROOT

HIDDEN = runpy.run_path(str(ROOT / "benchmarks" / "hidden.py"), run_name="hidden")
HEAD = "data\tsystem\tfigure\n"


def test_a_figure_is_read_with_its_data_and_system(tmp_path: Path) -> None:
    (tmp_path / "figures.tsv").write_text(f"{HEAD}egret\tql\t0.5\nrelic\tBM25\t0\n", "utf-8")
    assert HIDDEN["read"](tmp_path / "figures.tsv") == [("egret", "ql", 0.5), ("relic", "BM25", 0)]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("data\tfigure\nrelic\t0.1\n", 1),
        (f"{HEAD}relic\tBM25\n", 2),
        (f"{HEAD}relic\tBM25\thalf\n", 2),
        (f"{HEAD}egret\tql\t0.5\nrelic\tBM25\t9.1\n", 3),
        (f"{HEAD}birco\tBM25\t0.1\n", 2),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path: Path, table: str, line: int) -> None:
    (tmp_path / "figures.tsv").write_text(table, "utf-8")
    with pytest.raises(InputError) as error:
        HIDDEN["read"](tmp_path / "figures.tsv")
    assert error.value.line == line

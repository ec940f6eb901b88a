"""Reported figures beside measured ones, and how both are shown and written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses.analyse import analyse
from irtoolkit.papers.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    Printed,
)
from irtoolkit.papers.analyses.catalogue import analyses, find_analysis
from irtoolkit.papers.analyses.files import csv_table
from irtoolkit.papers.analyses.result import (
    AnalysisResult,
    as_json,
    as_latex,
)
from tests.conftest import Answer
from tests.datasets import register


@dataclass(frozen=True)
class Counted(Analysis):
    """Counts what a paper is said to have counted."""

    name: ClassVar[str] = "counted"
    title: ClassVar[str] = "A paper, Table 0"
    remarks: ClassVar[tuple[str, ...]] = ("The paper counts otherwise.",)
    reported: ClassVar[Mapping[str, Printed]] = {
        "counts": {("one",): (0.25, 79.0, None), ("other",): (0.5, 1.0, 2.0)}
    }

    def find(self, given: Given) -> Findings:
        columns = (Column("α"), Column("%", 2, printed=0, cut=True), Column("n"))
        rows = (FigureRow(("one",), (0.256, 79.97, 7)), FigureRow(("mine",), (0.1, 1.0, 3)))
        return Findings(
            (FigureTable("counts", "Counts", ("what",), columns, rows),), (), ("Said.",)
        )


def result(judgments: int | None = None, rows: int = 1) -> AnalysisResult:
    name = register(qrels=[("q1", f"d{i}", 1) for i in range(1, rows + 1)])

    class Here(Counted):
        pass

    Here.datasets, Here.judgments = (name,), judgments
    return analyse(Here(), [Dataset.load(name)])


def test_a_figure_is_compared_as_the_paper_prints_it() -> None:
    assert Column("x").same(0.4549, 0.45)
    assert not Column("x").same(0.4553, 0.45)
    assert Column("x", 2, printed=0, cut=True).same(88.99, 88.0)
    assert not Column("x", 2, printed=0).same(88.99, 88.0)


def test_other_data_have_no_figures_of_the_paper() -> None:
    found = result(judgments=2)
    assert all(not row.reported for table in found.findings.tables for row in table.rows)
    assert "1 judgments, not 2" in (found.other or "")
    assert result(judgments=2, rows=2).other is None
    named = analyse(find_analysis("csfcube-citations")(), ["csfcube/sample"])
    assert named.other is not None
    assert "invented sample" in named.other


def test_json_and_csv_keep_every_digit() -> None:
    found = result()
    first = as_json(found)["tables"][0]["rows"][0]
    assert first["measured"]["α"] == 0.256
    assert first["reported"] == {"α": 0.25, "%": 79.0, "n": None}
    lines = list(csv.reader(io.StringIO(csv_table(found.findings.tables[0]).render("csv"))))
    assert lines[1] == ["one", "measured", "0.256", "79.97", "7"]


def test_latex_has_commands_for_what_its_fonts_lack() -> None:
    said = as_latex(result())
    assert r"$\alpha$" in said
    assert r"0.25$^{\neq}$" in said


def test_an_analysis_by_name_in_python() -> None:
    found = ir.analyse("csfcube-agreement", "csfcube/sample", missing="drop")
    assert "left out with their candidates" in str(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(InputError, match="has no setting"):
        ir.analyse("csfcube-agreement", "csfcube/sample", nope=1)
    with pytest.raises(InputError, match="made already"):
        analyse(find_analysis("csfcube-agreement")(), missing="drop")


# -- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, one in analyses().items() if not one.people])
def test_each_analysis_runs_on_the_sample(
    name: str, irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    said = irtoolkit("analyse", name, "--sample", "--format", "json", "-o", tmp_path)
    assert said.status == 0, said.err
    found = json.loads(said.out)
    assert found["analysis"] == name
    assert all("/sample" in one for one in found["datasets"])
    assert found["tables"]
    assert all(table["rows"] for table in found["tables"])
    assert not any("reported" in row for table in found["tables"] for row in table["rows"])
    assert len(list(tmp_path.glob("*.csv"))) == len(found["tables"])


def test_the_list_names_every_analysis(irtoolkit: Callable[..., Answer]) -> None:
    said = irtoolkit("analyse", "--list", "--format", "json")
    assert [one["analysis"] for one in json.loads(said.out)] == list(analyses())
    for name in analyses():
        assert name in irtoolkit("analyse", "--list").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no ANALYSIS is named"),
        (["csfcube-agreement", "--list"], "--list beside an ANALYSIS"),
        (["csfcube-agreement", "--sample", "--missing", "guess"], "missing"),
        (["csfcube-agreement", "--sample", "--system", "bm25"], "takes no ranking"),
        (["csfcube-agreement", "relic/sample/val"], "no ratings of two annotators"),
        (["csfcube-queries", "csfcube/sample", "gone.run"], "is not there reads as a dataset"),
        (["relic-quotations", "relic/sample/val", "gone"], "no dataset 'gone'"),
        (["csfcube-queries", "--sample", "--measure", "nDCGq"], "nDCGq"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, irtoolkit: Callable[..., Answer]
) -> None:
    said = irtoolkit("analyse", *words)
    assert said.status == 2
    assert message in said.err
    assert said.err.count("\n") == 1


def test_words_after_a_flag_are_datasets_and_runs(
    irtoolkit: Callable[..., Answer], tmp_path: Path
) -> None:
    run = tmp_path / "mine.run"
    assert irtoolkit("retrieve", "csfcube/sample", "random", "-o", run).status == 0
    said = irtoolkit("analyse", "csfcube-queries", "--format", "json", "csfcube/sample", run)
    assert json.loads(said.out)["systems"] == ["mine.run"]
    beside = irtoolkit("analyse", "csfcube-queries", "--sample", run, "--system", "bm25")
    assert "--system beside a run" in beside.err

"""Figures of reports as files, and the report command."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from irtoolkit.reports import figures
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.first_relevant import FirstRelevant
from irtoolkit.reports.pairs import measure_column
from tests.unit.reports.test_page import SYSTEMS, Command, compose_of, data_in, made_up, read


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Makes runs of a dataset, once: runs("csfcube/sample")."""
    from irtoolkit.cli import main

    folder = tmp_path_factory.mktemp("runs")

    def make(dataset_id: str, *options: str, systems: tuple[str, ...] = SYSTEMS) -> list[str]:
        made = []
        for system in systems:
            path = folder / "-".join([dataset_id.replace("/", "-"), system, *options, ".run"])
            if not path.exists():
                assert main(["retrieve", dataset_id, system, "-o", str(path), *options]) == 0
            made.append(str(path))
        return made

    return make


@pytest.fixture(scope="module")
def csfcube(runs: Callable[..., list[str]]) -> ReportContent:
    return compose_of("csfcube/sample", runs("csfcube/sample"))


def test_figures_are_drawn_as_pdf_and_svg(csfcube: ReportContent, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    expected = {"differences", "scatter", "ranks", "by-facet"}
    written = figures.write_figures(csfcube, tmp_path / "a")
    assert {path.stem for path in written} == expected
    assert {path.suffix for path in written} == {".pdf", ".svg"}
    for path in written:
        if path.suffix == ".pdf":
            assert path.read_bytes().startswith(b"%PDF")
            # Type 42: publishers refuse Type 3 fonts.
            assert b"/Type3" not in path.read_bytes()
        else:
            assert ET.fromstring(path.read_text("utf-8")).tag.endswith("svg")
    again = figures.write_figures(csfcube, tmp_path / "b")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_a_figure_of_many_queries_is_small_and_keeps_the_extremes(
    csfcube: ReportContent, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    values = np.zeros((2, 9000))
    values[0, 4000], values[1, 17] = 0.9, 0.7
    many = made_up(values.tolist())
    report = replace(
        csfcube, evaluations=tuple(many), columns=(measure_column(many, "AP"),), chart="AP", pair=(0, 1),
        breakdowns={}, systems=csfcube.systems[:2],
        first_relevant=FirstRelevant(1, 9000, (np.full(9000, np.nan),) * 2, (1, 1), (False, False)),
    )  # fmt: skip
    written = figures.write_figures(report, tmp_path)
    assert {path.stem for path in written} == {"differences", "scatter"}
    assert all(path.stat().st_size < 200_000 for path in written)
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    figures._differences(axes, report)
    low, high = axes.get_ylim()
    assert low < -0.7
    assert high > 0.9
    assert "each column shows the largest difference of 9" in axes.get_xlabel()


@pytest.mark.parametrize("texts", [(), ("--texts", "3")])
def test_the_size_of_a_large_page_is_told(
    runs: Callable[..., list[str]], irtoolkit: Command, tmp_path: Path, texts: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("irtoolkit.commands.report._LARGE", 1000)
    out = f"file://{tmp_path}/r.html"
    outputs = ("-o", out, "-o", "memory://report.html")
    answer = irtoolkit("report", "csfcube/sample", *runs("csfcube/sample"), *outputs, *texts)
    assert f"{out} has 0.1 MB" in answer.err
    assert answer.err.count(" MB\n" if not texts else " MB;") == 1
    assert ("--texts" in answer.err) is bool(texts)


def test_the_command_writes_all_it_is_asked_for(
    runs: Callable[..., list[str]], irtoolkit: Command, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    answer = irtoolkit(
        "report", "csfcube/sample", *runs("csfcube/sample"), "-o", tmp_path / "r.html",
        "-o", tmp_path / "t.TEX", "-o", tmp_path / "t.md", "--figures", tmp_path / "f",
        "--names", "A", "B", "C", "--intervals", "--pair", *runs("csfcube/sample")[1:],
        "--chart", "nDCGp(p=20)",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    told = [Path(line) for line in answer.out.splitlines()]
    assert len(told) == 3 + 8
    assert all(path.stat().st_size for path in told)
    data = data_in(read((tmp_path / "r.html").read_text("utf-8")))
    assert (data["pair"], data["chart"]) == ([1, 2], 0)
    assert r"{\scriptsize [" in (tmp_path / "t.TEX").read_text()

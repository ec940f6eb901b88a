"""A report's table of systems: its order, its differences, its commands; cautions, and the page's size."""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.reports import formatting, papers, text_choice
from irtoolkit.reports.compose import ReportOptions
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.first_relevant import FirstRelevant
from irtoolkit.reports.page import render
from irtoolkit.reports.pairs import measure_column
from tests.unit.reports.test_page import SYSTEMS, compose_of, made_up, read

MINUS = "\u2212"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """Makes runs of a dataset: system to file."""
    from irtoolkit.cli import main

    folder = tmp_path_factory.mktemp("runs")

    def make(dataset_id: str) -> dict[str, str]:
        made = {}
        for system in SYSTEMS:
            path = folder / f"{dataset_id.replace('/', '-')}-{system}.run"
            if not path.exists():
                made_run = ["retrieve", dataset_id, system, "-o", str(path), "--depth", "20"]
                assert main(made_run) == 0
            made[system] = str(path)
        return made

    return make


@pytest.fixture(scope="module")
def csfcube(runs: Callable[[str], dict[str, str]]) -> ReportContent:
    return compose_of("csfcube/sample", list(runs("csfcube/sample").values()))


def test_the_best_system_and_the_main_measure_come_first(
    runs: Callable[[str], dict[str, str]],
) -> None:
    paths = list(runs("csfcube/sample").values())[::-1]
    report = compose_of("csfcube/sample", paths, "AP nDCGp(p=20) RPlast")
    assert [column.measure for column in report.columns] == ["nDCGp(p=20)", "AP", "RPlast"]
    figures = report.columns[0].figures
    assert list(figures) == sorted(figures, reverse=True)
    assert [system.letter for system in report.systems] == ["a", "b", "c"]
    assert report.pair == (0, 1)
    given = compose_of("csfcube/sample", paths, "AP", order="given", names=["x", "y", "z"])
    assert [system.name for system in given.systems] == ["x", "y", "z"]
    assert [system.file for system in given.systems] == [Path(path).name for path in paths]
    with pytest.raises(InputError, match="'sorted' is none of best, given"):
        ReportOptions(order="sorted")  # type: ignore[arg-type]


def test_of_ranks_the_lowest_comes_first_and_an_unknown_one_last(
    runs: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    deep = list(runs("relic/sample/val").values())
    bare = shutil.copy(deep[0], tmp_path / "bare.run")
    report = compose_of("relic/sample/val", [str(bare), *deep], "Rank", texts=0)
    figures = report.columns[0].figures
    assert list(figures[:3]) == sorted(figures[:3])
    assert (figures[3], report.systems[3].file) == (math.inf, "bare.run")
    assert report.pair == (0, 1)


@pytest.mark.parametrize("baseline", [None, "random", "bm25"])
def test_a_row_has_its_difference_from_the_baseline_and_the_corrected_p(
    runs: Callable[[str], dict[str, str]], baseline: str | None
) -> None:
    named = runs("csfcube/sample")
    report = compose_of("csfcube/sample", list(named.values()), baseline=named.get(baseline or ""))
    names = [system.name for system in report.systems]
    reference = names.index(baseline) if baseline else 0
    assert report.reference == reference
    # The best is compared with the baseline, and with the runner-up where it is the baseline.
    assert report.pair == (0, reference or 1)
    table = read(render(report)).one("table", id="figures")
    heads = [head.text for head in table.one("thead").all("th")]
    assert heads[2:4] == [f"Differencefrom {names[reference]}", "pHolm-corrected"]
    column = report.column(report.chart)
    for i, row in enumerate(table.one("tbody").all("tr")):
        difference, p = (cell.text for cell in row.all("td")[1:3])
        if i == reference:
            assert (difference, p) == ("baseline" if baseline else "best", "")
            continue
        gap = column.figures[i] - column.figures[reference]
        assert difference == f"{'+' if gap >= 0 else MINUS}{abs(gap):.4f}"
        pair = column.pair_of(reference, i)
        assert pair is not None
        assert p == formatting.format_p_value(pair.corrected)


def test_the_command_of_a_run_is_in_its_row_without_folders_of_the_machine(
    runs: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    run, other = tmp_path / "bm25.run", tmp_path / "other.run"
    shutil.copy(runs("csfcube/sample")["bm25"], run)
    shutil.copy(runs("csfcube/sample")["tfidf"], other)
    words = ["irtoolkit", "retrieve", "csfcube/sample", "bm25", "-o", str(run), f"--weights={run}"]
    record = {"implementation": {"executable": {"cmd": shlex.join(words)}}}
    Path(f"{run}.ir-metadata.yml").write_text(yaml.safe_dump(record))
    source = render(compose_of("csfcube/sample", [str(run), str(other)]))
    rows = read(source).one("table", id="figures").one("tbody").all("tr")
    (code,) = [found for row in rows for found in row.all("code")]
    assert code.text == "irtoolkit retrieve csfcube/sample bm25 -o bm25.run --weights=bm25.run"
    assert str(tmp_path) not in source


@pytest.mark.parametrize("command", [None, 7, "irtoolkit retrieve 'unclosed"])
def test_a_record_without_a_command_that_can_be_read_has_none(
    runs: Callable[[str], dict[str, str]], tmp_path: Path, command: Any
) -> None:
    run = tmp_path / "bm25.run"
    shutil.copy(runs("csfcube/sample")["bm25"], run)
    record = {"implementation": {"executable": {"cmd": command}}}
    Path(f"{run}.ir-metadata.yml").write_text(yaml.safe_dump(record))
    assert compose_of("csfcube/sample", [str(run)], "AP", texts=0).systems[0].command == ""


@pytest.mark.parametrize(
    ("queries", "test", "told"),
    [
        (2, "student", "p below 0.5 on 2 queries rests on normal differences"),
        (5, "fisher", "this test cannot give p below 0.062"),
        (6, "student", "6 queries are few for a t-test"),
        (24, "wilcoxon", "24 queries are few"),
        (25, "student", None),
    ],
)
def test_few_queries_carry_a_caution(
    csfcube: ReportContent, queries: int, test: Any, told: str | None
) -> None:
    values = np.random.default_rng(1).random((2, queries))
    few = tuple(made_up(values.tolist()))
    unranked = (np.full(queries, np.nan),) * 2
    report = replace(
        csfcube, evaluations=few, columns=(measure_column(few, "AP"),), chart="AP", pair=(0, 1),
        systems=csfcube.systems[:2], test=test, breakdowns={},
        first_relevant=FirstRelevant(1, queries, unranked, (1, 1), (False, False)),
    )  # fmt: skip
    for output in (render(report), papers.as_markdown(report), papers.as_latex(report)):
        assert ("Caution" in output) == (told is not None)
        assert told is None or told in output
    # A single system is not tested, and needs no caution.
    alone = (measure_column(few[:1], "AP"),)
    assert formatting.caution(replace(report, columns=alone)) is None


def test_a_page_of_long_texts_stays_below_its_size(
    runs: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = list(runs("relic/sample/val").values())
    monkeypatch.setattr(text_choice, "BYTES", 60_000)
    report = compose_of("relic/sample/val", paths, chart="R@10")
    assert text_choice.packed_size(report.texts.entries) <= 60_000
    kept = [entry.query for entry in report.texts.entries]
    assert 2 < len(kept) < 75
    gains = report.gains("R@10")
    assert (gains[kept].min(), gains[kept].max()) == (gains.min(), gains.max())
    assert f"the texts of {len(kept)} of the 75 queries" in (report.texts.why or "")
    # Whoever names a number gets it.
    assert len(compose_of("relic/sample/val", paths, texts=75).texts.entries) == 75

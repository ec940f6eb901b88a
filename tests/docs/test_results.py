"""The pages of results: their figures are those of the JSON, and their commands those of today."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.papers.catalogue import FOLDER as TABLES
from irtoolkit.papers.catalogue import find_table
from irtoolkit.papers.reproduce import survey
from irtoolkit.papers.result_json import as_json
from irtoolkit.papers.row_commands import row_commands
from tests.conftest import ROOT
from tests.unit.papers.test_pages import Cells

FOLDER = ROOT / "benchmarks" / "results" / "reproduce"
PAGES = ROOT / "docs" / "results"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", sorted(FOLDER.parent.rglob("*.json")), ids=lambda path: path.stem)
def test_results_are_json_that_every_reader_takes(path: Path) -> None:
    def refused(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    json.loads(path.read_text("utf-8"), parse_constant=refused)


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def printed(figure: float | None, places: int) -> str:
    return "–" if figure is None else f"{figure:.{places}f}"


def test_every_table_has_results_and_every_benchmark_a_page() -> None:
    ours = {path.stem for path in TABLES.glob("*.toml")}
    # BIRCO's table holds figures of published rankings; benchmarks/birco.py writes both and the page.
    assert {path.stem for path in FILES} == ours - {"birco"}
    benchmarks = {find_table(name).benchmark for name in ours}
    assert {path.stem for path in PAGES.glob("*.md")} == {
        "books",
        "editions",
        "index",
        "quality",
        "quality-tables",
        "robustness",
        *benchmarks,
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_page_has_the_figures_of_the_json(path: Path) -> None:
    found = read(path)
    page = (PAGES / f"{found['benchmark']['name']}.md").read_text("utf-8")
    _, _, section = page.partition(f"\n## {path.stem}\n")
    rows = Cells(section.partition("\n## ")[0]).rows
    places = found["places"]
    count = 0
    for row in found["rows"]:
        for group in found["groups"]:
            if group in row["measured"]:
                cells = [printed(value, places) for value in row["measured"][group].values()]
                assert [row["system"], *cells] in rows
                count += 1
            for column, gap in row["differences"].get(group, {}).items():
                measured, reported = row["measured"][group][column], row["reported"][group][column]
                if gap is not None:
                    assert gap == pytest.approx(round(measured, places) - reported, abs=1e-9)
    assert count == sum(len(row["measured"]) for row in found["rows"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reported_figures_and_commands_are_those_of_the_table(path: Path) -> None:
    table, found = find_table(path.stem), read(path)
    usual = {row["system"]: row for row in as_json(survey(table))["rows"]}
    assert list(usual) == [row["system"] for row in found["rows"]], "run benchmarks/reproduce.py"
    for row in found["rows"]:
        for key in ("reported", "spread", "doubtful", "state", "note", "reproduce"):
            assert row[key] == usual[row["system"]][key], f"{row['system']}: {key}"
        for group in table.groups:
            now = asdict(row_commands(table, table.find_row(row["system"]), group))
            assert row["commands"][group] == json.loads(json.dumps(now))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_folder_of_a_machine_is_in_the_results(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.findall(r'(?<![\w.:/~*$-])/(?:home|root|tmp|work|Users|var)\b[^"]*', text)
    assert not read(path)["sample"]


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "reproduce.md").read_text("utf-8")
    _, _, section = page.partition("## Results as JSON")
    named = set(re.findall(r"`(\w+)`", section.partition("## Run one")[0]))
    for path in FILES:
        found = read(path)
        for part in (found, *found["rows"], *found["data"].values(), *found["columns"].values()):
            assert part.keys() <= named, part.keys() - named


# The pages of the strongest systems are of benchmarks/quality.py, in plain Markdown.
@pytest.mark.parametrize(
    "page",
    [page for page in sorted(PAGES.glob("*.md")) if not page.stem.startswith("quality")],
    ids=lambda page: page.stem,
)
def test_tables_can_be_read_without_seeing_them(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(Cells(text).scopes) <= {"row", "col"}
    boxes = re.findall(r'<div class="reproduction"([^>]*)>', text)
    assert all('tabindex="0"' in box and "aria-label=" in box for box in boxes)
    assert (
        len(re.findall("<details( markdown)?>", text))
        == text.count("</details>")
        == text.count("<summary>")
    )


def test_the_measured_figures_of_csfcube_are_the_same_on_both_of_its_pages() -> None:
    page = (ROOT / "docs" / "benchmarks" / "csfcube.md").read_text("utf-8")
    for row in read(FOLDER / "csfcube.json")["rows"]:
        line = re.search(rf"^\| `?{re.escape(row['system'])}`? \|(.*)$", page, re.MULTILINE)
        if line and row["measured"]:
            shown = re.findall(r"(?<![(\d])\d+\.\d+", line[1])
            assert shown == [f"{value:.2f}" for value in row["measured"]["all"].values()]

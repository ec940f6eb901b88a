"""The commands that a result of a table shows for each row give exactly that row."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.cli import build_parser
from irtoolkit.papers.catalogue import find_table, tables
from irtoolkit.papers.row_commands import quoted, reproduce_command, row_commands
from tests.unit.papers.test_tables import Command, reproduce

# Rows that need nothing but the package, of tables that differ in groups, views, depths and candidates.
CHEAP = {
    "csfcube": ("random", "fabs_tfidf", "fabs_bm25"),
    "quoter": ("BM25", "CRM"),
    "relic-proxy": ("random",),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))


def shown(sample: bool) -> Iterator[str]:
    """Every command that is shown for a row of any table."""
    for table in tables().values():
        for row in table.rows:
            yield reproduce_command(table, row, sample=sample)
            for group in table.groups:
                found = row_commands(table, row, group, sample=sample)
                yield from (*found.prepare, found.retrieve, found.eval)


@pytest.mark.parametrize("sample", [False, True])
def test_the_parser_takes_every_command(sample: bool) -> None:
    parser = build_parser()
    ours = {line for line in shown(sample) if line.startswith("irtoolkit ")}
    assert len(ours) > 200
    for line in sorted(ours):
        parser.parse_args(shlex.split(line)[1:])
    others = {*shown(sample)} - ours - {""}
    assert all(line.startswith("hf download ") for line in others), others
    assert others


@pytest.mark.parametrize("name", CHEAP)
def test_the_commands_give_the_run_and_the_figures(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    found, _ = reproduce(irtoolkit, name, "--sample", "--systems", *CHEAP[name])
    own = tmp_path / "a reader"
    own.mkdir()
    monkeypatch.chdir(own)
    checked = sum(_gives(irtoolkit, found, row) for row in found["rows"])
    judged = [group for group, data in found["data"].items() if data["state"] == "sample"]
    assert checked == len(CHEAP[name]) * len(judged)
    for path in (tmp_path / "runs").glob("*.run"):
        assert (Path("runs") / path.name).read_bytes() == path.read_bytes()


def _gives(irtoolkit: Command, found: dict[str, Any], row: dict[str, Any]) -> int:
    """Runs the commands of a row; checks the run's name and its figures, and counts the groups."""
    for group, figures in row["measured"].items():
        lines = row["commands"][group]
        for line in filter(None, [*lines["prepare"], lines["retrieve"]]):
            done = irtoolkit(*shlex.split(line)[1:])
            assert done.status == 0, done.err
        assert (Path("runs") / row["runs"][group]).is_file()
        done = irtoolkit(*shlex.split(lines["eval"])[1:], "--format", "json")
        assert done.status == 0, done.err
        [printed] = json.loads(done.out).values()
        for column, spec in found["columns"].items():
            assert printed[spec["measure"]] * spec["scale"] == pytest.approx(
                figures[column], abs=1e-9
            )
    return len(row["measured"])


def test_hidden_judgments_have_no_commands() -> None:
    table = find_table("relic")
    row = table.find_row("BM25-4-4")
    assert row_commands(table, row, "test") == row_commands(table, row, "test").__class__()
    assert row_commands(table, row, "val").eval


def test_rows_that_nothing_runs_have_the_command_of_their_figures_alone() -> None:
    table = find_table("relic-length")
    found = row_commands(table, table.rows[0], "val")
    assert (found.prepare, found.retrieve, found.eval) == ((), "", table.rows[0].command)
    people = find_table("relic-proxy")
    assert not any(vars(row_commands(people, people.find_row("human"), "val")).values())
    assert reproduce_command(people, people.find_row("human")) == ""


def test_a_trained_row_is_trained_first() -> None:
    table = find_table("quoter")
    found = row_commands(table, table.find_row("Ours"), "zh")
    assert found.prepare == ("irtoolkit train quoter --set side=both language=zh",)


@pytest.mark.parametrize("word", ["RR", "P(rel=2)@20", "a b", 'a "b"', "$HOME", "it's", "a`b"])
def test_a_quoted_word_is_one_word(word: str) -> None:
    assert shlex.split(quoted(word)) == [word]

"""The example package: what it adds is found when it is installed, without an edit of irtoolkit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from math import log
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip has installed the example package into."""
    home = tmp_path_factory.mktemp("plugin")
    source = home / "source"  # building leaves files behind
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    command += ["--no-index", "--disable-pip-version-check", "--target", str(home / "site")]
    subprocess.run([*command, str(source)], check=True, timeout=300)
    return home / "site"


def run(site: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in a folder, with the example package and irtoolkit to be found."""
    paths = [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


# Runs commands in one process; prints the status, the output and the messages of each.
SCRIPT = """
import contextlib, io, json, sys
from irtoolkit.cli import main

def answer(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as leaving:
            status = leaving.code
    return status, out.getvalue(), err.getvalue()

print(json.dumps([answer(line.split()) for line in sys.argv[1:]]))
"""
COMMANDS = (
    "retrieve proverbs shared-letters -o letters.run",
    "eval proverbs letters.run --measures FirstHalf RR",
    "retrieve proverbs shared-letters -o x.run --set cases=true",
    "longest proverbs",
    "--help",
    "analyse --list",
    "analyse text-lengths --format csv",
    "analyse text-lengths --set least=6 --format csv",
    "reproduce proverbs --format json",
)


class Done:
    """What the commands did in a folder, in one process that has the package."""

    def __init__(self, folder: Path, answers: list[list[Any]]) -> None:
        self.folder, self._answers = folder, dict(zip(COMMANDS, answers, strict=True))

    def of(self, command: str, status: int = 0) -> str:
        """What a command printed, or said where it failed as it must."""
        found, out, err = self._answers[command]
        assert found == status, err
        return str(err if status else out)


@pytest.fixture(scope="module")
def done(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("done")
    made = run(installed, folder, "-c", SCRIPT, *COMMANDS)
    assert made.returncode == 0, made.stderr
    return Done(folder, json.loads(made.stdout))


def test_a_retriever_a_measure_and_a_dataset_of_another_package(done: Done) -> None:
    done.of("retrieve proverbs shared-letters -o letters.run")
    lines = (done.folder / "letters.run").read_text().splitlines()
    assert len(lines) == 16
    assert {line.split()[-1] for line in lines} == {"shared-letters"}
    shown = done.of("eval proverbs letters.run --measures FirstHalf RR")
    # By hand: of the four lists, which have four documents each, how many have theirs in two.
    first_half = sum(
        line.split()[2][1:] == line.split()[0][1:] and int(line.split()[3]) <= 2 for line in lines
    )
    assert f"{first_half / 4:.4f}" in shown
    assert "FirstHalf" in shown


def test_its_settings_are_checked_as_ours_are(done: Done) -> None:
    said = done.of("retrieve proverbs shared-letters -o x.run --set cases=true", status=2)
    assert "retriever shared-letters has no setting 'cases' (did you mean case? it has case" in said


def test_a_command_of_another_package(done: Done) -> None:
    assert done.of("longest proverbs").startswith("p2\tThe early bird")
    assert "longest" in done.of("--help")


def test_an_analysis_of_another_package(done: Done) -> None:
    assert "text-lengths" in done.of("analyse --list")
    shown = done.of("analyse text-lengths --format csv")
    assert shown.splitlines() == [
        "dataset,figures,texts,shortest,longest", "proverbs,measured,4,4,6",
    ]  # fmt: skip
    assert done.of("analyse text-lengths --set least=6 --format csv") != shown


def test_a_table_of_another_package(done: Done) -> None:
    assert '"system": "letters"' in done.of("reproduce proverbs --format json")
    assert (done.folder / "runs" / "proverbs.all.letters.run").is_file()


def test_the_same_from_python(installed: Path, tmp_path: Path) -> None:
    code = """
import irtoolkit as ir

run = ir.retrieve("proverbs", "shared-letters", case=True)
scores = ir.evaluate("proverbs", run, measures="FirstHalf RR")
print(list(scores.figures()["shared-letters"]))
print(ir.index("proverbs", "shared-letters").search("still waters run", k=1).doc_ids)
"""
    done = run(installed, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['FirstHalf', 'RR']", "['p4']"]


def test_an_index_of_another_package_scores_alike_everywhere(
    installed: Path, tmp_path: Path
) -> None:
    code = """
import json
import irtoolkit as ir

docs = {f"d{i:02}": "sea " * (i % 4) + "whale " * (i % 3) + "ship " * i for i in range(40)}
queries, depth = {"q": "whale at sea", "r": "ship"}, 40
data = ir.load(docs, queries=queries, qrels={"q": {"d01": 1}})
several = ir.index(docs, "pivoted", "parts")
whole = ir.index(dict(list(docs.items())[:9]), "pivoted", "index")
for first in range(9, 40, 9):
    whole = whole.add(dict(list(docs.items())[first:first + 9]))
runs = [
    ir.index(docs, "pivoted").search_many(queries, depth),
    several.search_many(queries, depth),
    whole.search_many(queries, depth),
    ir.open_index("index").search_many(queries, depth),
    ir.retrieve(data, "pivoted", depth=depth),
]
print(json.dumps([
    {q: {row.doc_id: row.score for row in run.ranking(q) if row.score > 0} for q in queries}
    for run in runs
]))
print(ir.open_index("index", "pivoted", slope=0).search("whale", 1)[0].score)
"""
    done = run(installed, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    every, score = done.stdout.splitlines()
    first, *others = json.loads(every)
    assert all(other == first for other in others)
    assert [len(ranking) for ranking in first.values()] == [36, 39]
    # By hand: of 40 documents 26 have the word, at most twice.
    assert float(score) == pytest.approx((1 + log(1 + log(2))) * log(41 / 26))


def test_without_the_package_nothing_of_it_is_there(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path, "-m", "irtoolkit", "datasets", "proverbs")
    assert done.returncode == 2
    assert "no dataset 'proverbs'" in done.stderr

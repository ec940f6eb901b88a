"""The example package: what it adds is found when it is installed, without an edit of irtoolkit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def irtoolkit(site: Path, folder: Path, *args: str) -> str:
    """What a command prints; it must succeed."""
    done = run(site, folder, "-m", "irtoolkit", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_retriever_a_measure_and_a_dataset_of_another_package(
    installed: Path, tmp_path: Path
) -> None:
    irtoolkit(installed, tmp_path, "retrieve", "proverbs", "shared-letters", "-o", "letters.run")
    lines = (tmp_path / "letters.run").read_text().splitlines()
    assert len(lines) == 16
    assert {line.split()[-1] for line in lines} == {"shared-letters"}
    shown = irtoolkit(installed, tmp_path, "eval", "proverbs", "letters.run",
                      "--measures", "FirstHalf", "RR")  # fmt: skip
    # By hand: of the four lists, which have four documents each, how many have theirs in two.
    first_half = sum(
        line.split()[2][1:] == line.split()[0][1:] and int(line.split()[3]) <= 2 for line in lines
    )
    assert f"{first_half / 4:.4f}" in shown
    assert "FirstHalf" in shown


def test_its_settings_are_checked_as_ours_are(installed: Path, tmp_path: Path) -> None:
    args = ("retrieve", "proverbs", "shared-letters", "-o", "x.run", "--set", "cases=true")
    done = run(installed, tmp_path, "-m", "irtoolkit", *args)
    assert done.returncode == 2
    assert (
        "retriever shared-letters has no setting 'cases' (did you mean case? it has case"
        in done.stderr
    )


def test_a_command_of_another_package(installed: Path, tmp_path: Path) -> None:
    assert irtoolkit(installed, tmp_path, "longest", "proverbs").startswith("p2\tThe early bird")
    assert "longest" in irtoolkit(installed, tmp_path, "--help")


def test_an_analysis_of_another_package(installed: Path, tmp_path: Path) -> None:
    assert "text-lengths" in irtoolkit(installed, tmp_path, "analyse", "--list")
    shown = irtoolkit(installed, tmp_path, "analyse", "text-lengths", "--format", "csv")
    assert shown.splitlines() == [
        "dataset,figures,texts,shortest,longest", "proverbs,measured,4,4,6",
    ]  # fmt: skip
    few = ("analyse", "text-lengths", "--set", "least=6", "--format", "csv")
    assert irtoolkit(installed, tmp_path, *few) != shown


def test_a_table_of_another_package(installed: Path, tmp_path: Path) -> None:
    shown = irtoolkit(installed, tmp_path, "reproduce", "proverbs", "--format", "json")
    assert '"system": "letters"' in shown
    assert (tmp_path / "runs" / "proverbs.all.letters.run").is_file()


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


def test_without_the_package_nothing_of_it_is_there(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path, "-m", "irtoolkit", "datasets", "proverbs")
    assert done.returncode == 2
    assert "no dataset 'proverbs'" in done.stderr

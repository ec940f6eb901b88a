"""Some of the disturbances of `python -m tests.faults`, and whether the harness sees what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults import __main__ as script
from tests.faults import harness, points
from tests.faults import zygote as zygotes
from tests.faults.cases import Case
from tests.faults.harness import Bench
from tests.faults.moment import Fault, arm
from tests.faults.zygote import HUNG, Zygote

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks and limits"),
]

# Command: kind to how many moments.
SELECTED = {
    "retrieve": {"kill": 3, "interrupt": 1, "no-space": 2, "torn": 1},
    "index": {"kill": 3, "term": 1, "io-error": 2, "file-size": 1},
    "retrieve-again": {"torn": 1},
    "eval": {"kill": 2, "interrupt": 1, "no-space": 2},
    "eval-again": {"torn": 1},
}


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """One process that imports what all commands need and forks for each."""
    with harness.zygote(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.mark.parametrize("name", SELECTED)
def test_a_disturbed_command_ends_as_if_nothing_had_been(
    name: str, tmp_path: Path, zygote: Zygote
) -> None:
    bench = Bench(name, tmp_path, zygote)
    for kind, count in SELECTED[name].items():
        sized = kind in ("torn", "file-size")
        for at in [bench.largest // 2] if sized else points.spread(bench.changes, count):
            bench.fresh()
            found = bench.disturb(kind, at)
            assert found.happened
            assert found.problems == [], found
            # A cache that cannot be written is done without.
            assert found.status or kind in ("no-space", "io-error")


class Careless:
    """What stands for a process that runs commands: it writes a file, and does as it is told."""

    def __init__(self, disturbed: Callable[[Path, Path], int]) -> None:
        self._disturbed = disturbed

    def warm(self, loaded: Path) -> None:
        pass

    def run(self, argv: Any, folder: Path, env: Any, fault: Fault | None, **how: Any) -> int:
        said = how["said"]
        said.write_text("")
        Path(f"{said}.err").write_text("")
        if fault is not None and fault.kind != "count":
            Path(fault.mark).write_text(f"os.remove {folder / '.x.lock'}")
            return self._disturbed(folder, Path(f"{said}.err"))
        if not (folder / "stuck").exists():
            (folder / "out").write_text("whole")
        return 0


def half(folder: Path, errors: Path) -> int:
    (folder / "out").write_text("who")
    return -signal.SIGKILL


def stuck(folder: Path, errors: Path) -> int:
    (folder / "stuck").touch()
    return -signal.SIGKILL


def trace(folder: Path, errors: Path) -> int:
    errors.write_text("Traceback (most recent call last):\nirtoolkit: failed\n")
    return 2


def wordless(folder: Path, errors: Path) -> int:
    return 2


def careful(folder: Path, errors: Path) -> int:
    errors.write_text("irtoolkit: no space\n")
    return 2


def untidy(folder: Path, errors: Path) -> int:
    (folder / ".out.0123456789abcdef.tmp").touch()
    return careful(folder, errors)


def locking(folder: Path, errors: Path) -> int:
    (folder / ".x.lock").touch()
    return careful(folder, errors)


def locking_another(folder: Path, errors: Path) -> int:
    (folder / ".y.lock").touch()
    return careful(folder, errors)


def filling(folder: Path, errors: Path) -> int:
    (folder / ".x.lock").write_text("1")
    return careful(folder, errors)


def endless(folder: Path, errors: Path) -> int:
    return HUNG


def content(folder: Path, errors: Path) -> int:
    return 0


@pytest.mark.parametrize(
    ("kind", "does", "problem"),
    [
        ("kill", half, "half-written: out"),
        ("kill", stuck, "again: no out"),
        ("kill", careful, "status 2"),
        ("no-space", trace, "traceback"),
        ("no-space", wordless, "0 lines of its own"),
        ("no-space", untidy, "left: "),
        ("no-space", locking_another, "left: "),
        ("no-space", filling, "left: "),
        ("no-space", locking, ""),
        ("memory", endless, f"status {HUNG}"),
        ("no-space", content, "status 0 without the whole result"),
        ("no-space", careful, ""),
    ],
)
def test_what_goes_wrong_is_seen(
    kind: str, does: Callable[[Path, Path], int], problem: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(harness.CASES, "careless", Case(("none",)))
    zygote: Any = Careless(does)
    bench = Bench("careless", tmp_path, zygote)
    bench.fresh()
    found = bench.disturb(kind, 0)
    assert any(each.startswith(problem) for each in found.problems) if problem else True
    assert bool(found.problems) == bool(problem), found
    assert found.lock == (".x.lock" if does is locking else "")


def test_a_process_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygotes, "PATIENCE", 0.1)
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert zygotes._ended(sleeper.pid) == HUNG


def test_what_a_command_has_started_is_found_and_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(harness.CASES, "careless", Case(("none",), workers=True))
    zygote: Any = Careless(careful)
    bench = Bench("careless", tmp_path, zygote)
    env = {**os.environ, "IRTOOLKIT_CACHE": f"{bench.folder}/cache"}
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=env)
    found = bench.disturb("no-space", 0)
    assert list(found.running) == [started.pid]
    monkeypatch.setattr(harness, "_FOLLOW", 0)
    bench.follow(found)
    assert [problem.split(":")[0] for problem in found.problems] == ["still running"]
    started.communicate()
    found.problems.clear()
    bench.follow(found)
    assert found.problems == []


def test_figures_of_other_commands_stay_and_of_other_kinds_where_one_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "faults.json"
    monkeypatch.setattr(script, "RESULTS", results)

    def kept(*found: tuple[str, str, int], drop: bool) -> list[tuple[str, str, int]]:
        rows = [{"command": name, "kind": kind, "points": n} for name, kind, n in found]
        script.keep("faults", rows, drop=drop)
        made = json.loads(results.read_text())["faults"]
        return [(row["command"], row["kind"], row["points"]) for row in made]

    kept(("index", "kill", 1), ("index", "torn", 1), drop=True)
    kept(("load", "kill", 2), drop=True)
    assert kept(("index", "torn", 3), drop=False) == [
        ("load", "kill", 2), ("index", "kill", 1), ("index", "torn", 3),
    ]  # fmt: skip
    assert kept(("index", "term", 4), drop=True) == [("load", "kill", 2), ("index", "term", 4)]


def test_the_moments_of_a_command_are_spread_over_it() -> None:
    assert points.spread(3, 8) == [0, 1, 2]
    assert points.spread(100, 5) == [0, 25, 50, 74, 99]
    assert points.spread(0, 5) == []
    assert points.spread(9, 1) == [4]


def test_changes_below_a_folder_count(tmp_path: Path) -> None:
    """In a fork: what is armed stays armed."""
    (tmp_path / "here").mkdir()
    log = tmp_path / "log"
    child = os.fork()
    if not child:
        arm(Fault("no-space", 2, f"{tmp_path}/here/", log=str(log)))
        (tmp_path / "there").write_text("elsewhere")
        (tmp_path / "here" / "a").write_text("0")
        (tmp_path / "here" / "a").read_text()
        (tmp_path / "here" / "a").rename(tmp_path / "here" / "b")
        try:
            (tmp_path / "here" / "c").mkdir()
        except OSError:
            (tmp_path / "here" / "d").mkdir()
        os._exit(0)
    os.waitpid(child, 0)
    assert [line.split()[1] for line in log.read_text().splitlines()] == [
        "open", "os.rename", "os.mkdir", "os.mkdir",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["b", "d"]

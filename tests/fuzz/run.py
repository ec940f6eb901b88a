"""Fuzzes all parsers, one after another: `make fuzz MINUTES=30`, or `python -m tests.fuzz.run`.

Each target has a process of its own, so that none can end or slow another. Inputs that fail are put
into tests/fuzz/found, where the suite tries them again; corpora that atheris grows stay in build/fuzz.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irtoolkit.base.tables import TextTable
from tests.conftest import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "fuzz.json"
PLACE = ROOT / "build" / "fuzz"
# Seconds that a target's process has beyond its own, to start and to end.
_GRACE = 120
_SUMMED = ("executions", "seconds", "refused", "accepted")


def fuzzed(name: str, seconds: float, runs: int, seed: int, plain: bool) -> dict[str, Any]:
    """The figures of one target, whose process may hang or crash."""
    PLACE.mkdir(parents=True, exist_ok=True)
    out, log = PLACE / f"{name}.json", PLACE / f"{name}.log"
    out.unlink(missing_ok=True)
    options = ["--out", out, "--seconds", seconds, "--runs", runs, "--seed", seed]
    command = [sys.executable, "-m", "tests.fuzz.one", name, *map(str, options)]
    with open(log, "w") as said:
        try:
            done = subprocess.run(
                [*command, *(["--plain"] if plain else [])],
                cwd=ROOT, stdout=said, stderr=said, timeout=seconds + _GRACE, check=False,
            )  # fmt: skip
            ended = None if done.returncode == 0 else f"the process ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = "the process did not end"
    figures: dict[str, Any] = (
        json.loads(out.read_text("utf-8")) if out.is_file() else dict.fromkeys(_SUMMED, 0)
    )
    figures = {"target": name, "failures": {}, **figures}
    if ended is not None:
        figures["failures"][ended] = {"count": 1, "said": _last_line(log), "file": _kept(name, out)}
    covered = re.findall(r"cov: (\d+)", log.read_text("utf-8", "replace"))
    figures["coverage"] = int(covered[-1]) if covered else None
    figures["engine"] = _engine(plain)
    return figures


def _last_line(log: Path) -> str:
    return (log.read_text("utf-8", "replace").strip().splitlines() or [""])[-1][:300]


def _kept(name: str, out: Path) -> str | None:
    """The file of the input that was tried when a process ended."""
    place = out.with_suffix(".input")
    if not place.is_file():
        return None
    from tests.fuzz.target import keep
    from tests.fuzz.targets import TARGETS

    data = place.read_bytes()
    size = int.from_bytes(data[:4], "little")
    return str(keep(TARGETS[name], data[4 : 4 + size]))


def added(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The figures of two runs of a target together; failures are those of the later one."""
    made = {**one, **{key: round(one[key] + other.get(key, 0), 1) for key in _SUMMED}}
    for key in ("coverage", "peak memory MiB"):
        known = [each[key] for each in (one, other) if each.get(key) is not None]
        made[key] = max(known) if known else None
    return made


def shown(results: list[dict[str, Any]]) -> TextTable:
    """The figures as a table."""
    keys = ("executions", "seconds", "refused", "accepted")
    rows = [
        (r["target"], *(r[key] for key in keys), r["coverage"], len(r["failures"])) for r in results
    ]
    total = [sum(r[key] for r in results) for key in keys]
    rows.append(("all", *total, None, sum(len(r["failures"]) for r in results)))
    notes = [
        f"{r['target']}: {key} ({one['count']} times, {one.get('file')}): {one['said']}"
        for r in results
        for key, one in r["failures"].items()
    ]
    return TextTable(["target", *keys, "coverage", "failures"], rows, notes=notes, places=0)


def main() -> int:
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="for all targets together")
    parser.add_argument("--runs", type=int, default=10**6, help="inputs of a target, at most")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--add", action="store_true", help="to the figures that are there")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    plain = given.plain or find_spec("atheris") is None
    if plain and not given.plain:
        print("atheris is not installed (pip install -e '.[fuzz]'): seeds are changed at random")
    old: dict[str, Any] = {}
    if given.output.is_file() and given.add:
        old = {one["target"]: one for one in json.loads(given.output.read_text("utf-8"))["targets"]}
    if not given.add:
        shutil.rmtree(PLACE, ignore_errors=True)
    new = dict(old)
    for number, name in enumerate(given.targets):
        seconds = given.minutes * 60 / len(given.targets)
        seed = 1 + int(old.get(name, {}).get("executions", 0))
        found = fuzzed(name, seconds, given.runs, seed, plain)
        new[name] = added(found, old.get(name, dict.fromkeys(_SUMMED, 0)))
        results = [new[each] for each in TARGETS if each in new]
        print(f"{number + 1}/{len(given.targets)} {name}: {found['executions']} inputs, {len(found['failures'])} failures", flush=True)  # fmt: skip
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps(_document(results), indent=1) + "\n", "utf-8")
    print(shown(results))
    return 1 if any(new[name]["failures"] for name in given.targets) else 0


def _engine(plain: bool) -> str:
    return "seeds changed at random" if plain else f"atheris {metadata.version('atheris')}"


def _document(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "command": "make fuzz",
        "python": sys.version.split()[0],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "targets": [
            {**one, "failures": {key: {k: v for k, v in said.items() if k != "file"} for key, said in one["failures"].items()}}
            for one in results
        ],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

"""Disturbs commands at many moments, prints a table, and keeps the figures.

python -m tests.faults                 all commands, some 25 minutes on two cores
python -m tests.faults index train     some of them; the figures of the others stay as they are
python -m tests.faults --together      processes at once on the same files
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irtoolkit.base.durable import write_durably
from irtoolkit.base.locks import locked
from irtoolkit.runs.provenance import short_commit
from tests.faults.cases import CASES
from tests.faults.harness import Bench, Found, zygote
from tests.faults.points import disturbances
from tests.faults.zygote import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "faults.json"
_COLUMNS = (
    "command",
    "kind",
    "points",
    "identical",
    "different",
    "tracebacks",
    "other",
    "left",
    "locks",
)


def disturbed(name: str, kinds: set[str]) -> Iterator[Found]:
    """What every disturbance of a case has shown."""
    place = Path(tempfile.mkdtemp(prefix=f"faults-{name}-"))
    try:
        with zygote(place / "home") as runs:
            bench, followed = Bench(name, place, runs), []
            for found in disturbances(bench, kinds):
                if found.running:
                    followed.append(found)
                else:
                    yield found
            # The next command does not wait for them either.
            for found in followed:
                bench.follow(found)
                yield found
    finally:
        shutil.rmtree(place)


def rows(found: list[Found]) -> list[dict[str, Any]]:
    """A row for each kind of disturbance of a command."""
    made = []
    found = [each for each in found if each.happened]
    for kind in dict.fromkeys(each.kind for each in found):
        own = [each for each in found if each.kind == kind]
        different = [e for e in own if any(p.startswith("again") for p in e.problems)]
        traced = [e for e in own if any(p.startswith("traceback") for p in e.problems)]
        other = [
            e for e in own if any(not p.startswith(("again", "traceback")) for p in e.problems)
        ]
        made.append(
            {
                "command": own[0].case, "kind": kind, "points": len(own),
                "identical": len(own) - len(different), "different": len(different),
                "tracebacks": len(traced), "other": len(other),
                "left": sum(bool(e.left) for e in own),
                "locks": sum(bool(e.lock) for e in own),
                "statuses": {str(s): n for s, n in sorted(_counts(e.status for e in own))},
            }
        )  # fmt: skip
    return made


def _counts(values: Iterator[int]) -> list[tuple[int, int]]:
    found: dict[int, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return list(found.items())


def table(made: list[dict[str, Any]]) -> str:
    """Rows as lines, and their sum."""
    made = [{"locks": 0, **row} for row in made]  # figures of old have none
    total = {c: sum(row[c] for row in made) for c in _COLUMNS[2:]}
    lines = [list(_COLUMNS)]
    lines += [[str(row[column]) for column in _COLUMNS] for row in made]
    lines.append(["all", "", *(str(total[c]) for c in _COLUMNS[2:])])
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(
            word.ljust(width) if i < 2 else word.rjust(width)
            for i, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def keep(part: str, value: Any, *, drop: bool = True) -> None:
    """Puts a part of the figures into the file of results; the other parts stay.

    Args:
        part: of the file.
        value: the figures, of some commands where the part is "faults".
        drop: whether these are all kinds of their commands, and figures of other kinds go.
    """
    with locked(RESULTS.with_suffix(".lock"), remove=True):
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        write_durably(RESULTS, _joined(known, part, value, drop))


def _joined(known: dict[str, Any], part: str, value: Any, drop: bool) -> bytes:
    about = {
        "commit": short_commit(), "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, Linux",
    }  # fmt: skip
    if part == "faults":
        # Of a command that was disturbed in some ways only, the figures of the others stay.
        now = {(row["command"], row["kind"]): row for row in value}
        names = {row["command"] for row in value if drop}
        kept = (row for row in known.get(part, []) if row["command"] not in names)
        old = {(row["command"], row["kind"]): row for row in kept}
        value = list((old | now).values())
        value.sort(key=lambda row: list(CASES).index(row["command"]))
    return (json.dumps({**known, "about": about, part: value}, indent=1) + "\n").encode()


def main() -> int:
    """What this script does; 1 where anything was not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--kinds", nargs="+", default=[], help="these alone; nothing is kept")
    parser.add_argument("--keep", action="store_true", help="keep the figures of --kinds too")
    args = parser.parse_args()
    bad = 0
    for name in args.cases or CASES:
        found = []
        for each in disturbed(name, set(args.kinds)):
            found.append(each)
            for problem in each.problems:
                bad += 1
                print(f"{name} {each.kind} {each.at}: {problem}", file=sys.stderr, flush=True)
            if each.left:
                print(f"{name} {each.kind} {each.at} leaves {each.left[:4]}", file=sys.stderr)
            if each.lock:
                print(
                    f"{name} {each.kind} {each.at} keeps {each.lock} from being removed",
                    file=sys.stderr,
                )
        print(table(rows(found)), flush=True)
        if args.keep or not args.kinds:
            keep("faults", rows(found), drop=not args.kinds)
    if RESULTS.exists() and not args.kinds:
        print(table(json.loads(RESULTS.read_text())["faults"]))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())

"""All tests beside other work and in another order: what failed, how long it took, the slowest.

    IRTOOLKIT_DATA=../shared/data python benchmarks/suite.py
    IRTOOLKIT_DATA=../shared/data python benchmarks/suite.py --busy 8 --seed 7
    python benchmarks/suite.py tests/unit/base -o /tmp/suite.json

Beside the tests run as many processes that compute without end as --busy says; load is that of the
machine, the mean over the run, and memory the most that a worker of pytest had. With --seed the files,
and the tests of each, come in a random order. A record is added to benchmarks/results/suite.json;
docs/results/robustness.md shows all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from irtoolkit.runs.provenance import short_commit

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "suite.json"
# What tells tests/shuffled.py the seed.
VARIABLE = "IRTOOLKIT_ORDER"
# Tests that are listed, the slowest first.
SLOWEST = 20
# Seconds from one look at load and memory to the next.
EVERY = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="*", metavar="TEST", help="default: all")
    parser.add_argument(
        "--busy", type=int, default=0, metavar="N", help="processes beside; default: 0"
    )
    parser.add_argument("--nice", type=int, default=10, help="of those; default: %(default)s")
    parser.add_argument(
        "--beside", metavar="TEXT", help="what else the machine does, for the record"
    )
    parser.add_argument("--seed", type=int, help="of a random order")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, metavar="FILE")
    args = parser.parse_args()
    with beside(args.busy, args.nice):
        found = measured(args.tests, args.seed)
    busy = f"{args.busy} of niceness {args.nice}" if args.busy else "nothing"
    about = {
        "date": datetime.now(UTC).date().isoformat(), "commit": short_commit(),
        "cores": os.cpu_count(),
        "order": "of files" if args.seed is None else f"random, seed {args.seed}",
        "beside": args.beside or busy,
    }  # fmt: skip
    kept = json.loads(args.output.read_text("utf-8")) if args.output.exists() else []
    args.output.write_text(json.dumps([*kept, {**about, **found}], indent=1) + "\n", "utf-8")
    print(f"{found['passed']} passed, {len(found['failed'])} failed: {args.output}")
    return int(bool(found["failed"]))


@contextmanager
def beside(count: int, nice: int) -> Iterator[None]:
    """Within it some processes compute without end."""
    code = f"import os\nos.nice({nice})\nwhile True: pass"
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measured(tests: list[str], seed: int | None) -> dict[str, Any]:
    """Runs tests; counts, seconds, load and the slowest."""
    # As the Makefile does: without bytecode each of hundreds of processes compiles what it imports.
    left_out = (VARIABLE, "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    if seed is not None:
        env[VARIABLE] = str(seed)
    with tempfile.TemporaryDirectory(prefix="irtoolkit-suite-") as folder:
        report = Path(folder) / "tests.xml"
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "tests.shuffled",
            f"--junitxml={report}",
            *tests,
        ]
        begun, loads, largest = time.monotonic(), [], 0
        running = subprocess.Popen(words, cwd=ROOT, env=env)
        while running.poll() is None:
            loads.append(os.getloadavg()[0])
            largest = max(largest, *memory_of_children(running.pid))
            with suppress(subprocess.TimeoutExpired):
                running.wait(EVERY)
        seconds = time.monotonic() - begun
        cases = list(ElementTree.parse(report).iter("testcase"))
    took = {
        f"{case.get('classname')}::{case.get('name')}": float(case.get("time", 0)) for case in cases
    }
    bad = [name for name, case in zip(took, cases, strict=False) if _has(case, "failure", "error")]
    skipped = sum(_has(case, "skipped") for case in cases)
    slowest = sorted(took, key=lambda name: -took[name])[:SLOWEST]
    return {
        "passed": len(cases) - skipped - len(bad), "skipped": skipped, "failed": bad,
        "minutes": round(seconds / 60, 1), "load": round(sum(loads) / len(loads), 1),
        "worker MB": round(largest / 2**20),
        "slowest": {name: round(took[name]) for name in slowest},
    }  # fmt: skip


def memory_of_children(process: int) -> list[int]:
    """Bytes of the children of a process, which are the workers of pytest; [0] where none is seen."""
    found = [0]
    with suppress(OSError):  # not on Linux, or gone
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text().split():
                pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
                found.append(pages * os.sysconf("SC_PAGE_SIZE"))
    return found


def _has(case: ElementTree.Element, *kinds: str) -> bool:
    return any(case.find(kind) is not None for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())

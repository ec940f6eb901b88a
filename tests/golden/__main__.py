"""Golden runs: what every retriever gives, whichever way it is asked.

    python -m tests.golden compare              # the samples: what moved, and which ways differ
    python -m tests.golden compare --releases   # and the releases in $IRTOOLKIT_DATA
    python -m tests.golden write --only bm25    # keeps what bm25 gives now; say in the commit what moved

Of releases hashes alone are kept. Vectors' last bits are those of a processor and of versions of
libraries; elsewhere than where they were written, cases with a model are compared way with way alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.golden.cases import CASES, Case
from tests.golden.record import datasets, file_of, golden, machine


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("--releases", action="store_true", help="the releases, too")
    parser.add_argument(
        "--dataset", nargs="+", choices=datasets(releases=True), metavar="ID", help="default: all"
    )
    systems = sorted({case.system for case in CASES})
    parser.add_argument("--only", nargs="+", choices=systems, metavar="SYSTEM", help="default: all")
    args = parser.parse_args()
    cases = [case for case in CASES if not args.only or case.system in args.only]
    total = 0
    for dataset_id in args.dataset or datasets(releases=args.releases):
        started = time.monotonic()
        made = golden(dataset_id, cases)
        lines = differences(dataset_id, made, cases)
        total += len(lines)
        if args.action == "write":
            write(file_of(dataset_id), made)
        print("\n".join(lines), end="\n" * bool(lines))
        runs = sum(len(ways) for ways in made.values())
        print(
            f"{dataset_id}: {len(made)} cases, {runs} runs, {len(lines)} moved,"
            f" {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return 1 if total and args.action == "compare" else 0


def write(path: Path, made: dict[str, Any]) -> None:
    """Keeps runs in a file, beside those of other cases that are there."""
    known = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else {}
    path.parent.mkdir(exist_ok=True)
    runs = {name: {**known, **made}[name] for name in sorted({**known, **made})}
    text = json.dumps({"machine": machine(), "runs": runs}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def differences(dataset_id: str, made: dict[str, Any], cases: list[Case]) -> list[str]:
    """A line for each run that is not the one that was kept."""
    path = file_of(dataset_id)
    if not path.exists():
        return [f"{dataset_id}: no golden runs yet"]
    known = json.loads(path.read_text("utf-8"))
    models = {case.name for case in cases if case.model or case.system == "word2vec"}
    same = known["machine"] == machine()
    lines = []
    for name, ways in made.items():
        if not same and name in models:
            lines += _partitions(f"{dataset_id} {name}", known["runs"].get(name, {}), ways)
        else:
            lines += moved(f"{dataset_id} {name}", known["runs"].get(name, {}), ways)
    return lines


def moved(what: str, known: dict[str, Any], ways: dict[str, Any]) -> list[str]:
    """A line for each way whose run is another than the one that was kept."""
    lines = [f"{what}: {way}: no longer made" for way in known.keys() - ways.keys()]
    for way, run in ways.items():
        before = known.get(way)
        if before is None:
            lines.append(f"{what}: {way}: new{': ' + run['error'] if 'error' in run else ''}")
        elif before != run:
            parts = [part for part in {**before, **run} if before.get(part) != run.get(part)]
            lines.append(f"{what}: {way}: {', '.join(parts)} moved")
            for part in ("error", "first"):
                lines += [f"    {part}: {before.get(part)} -> {run.get(part)}"] * (part in parts)
    return lines


def _partitions(what: str, known: dict[str, Any], ways: dict[str, Any]) -> list[str]:
    """Ways that once gave one run, and do not now."""

    def run_of(run: dict[str, Any]) -> str:
        return str(run.get("run", run.get("error")))

    return [
        f"{what}: {one} and {two} differ"
        for one in known
        for two in known
        if one < two and {one, two} <= ways.keys() and run_of(known[one]) == run_of(known[two])
        if run_of(ways[one]) != run_of(ways[two])
    ]


if __name__ == "__main__":
    sys.exit(main())

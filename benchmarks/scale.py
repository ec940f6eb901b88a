"""Work spread over workers: what it gains, what Ray costs, and what stays flat.

    python benchmarks/scale.py -o benchmarks/results/scale.json     # half an hour on two cores
    python benchmarks/scale.py --scale 0.01                          # to see that it works
    python benchmarks/scale.py --parts engines -o FILE               # the other parts of FILE stay

Encoding (MiniLM), building (an index of static vectors) and searching (BM25, 8 shards) are done by one
worker in this process, by two processes, and by two workers of a Ray on this machine. Each worker
computes on one thread. Each measurement has a process of its own; starting workers and loading models
are not counted. Efficiency is the time of one worker over twice that of two. The overhead of Ray
is its time over that of processes. The memory of the driver is the greatest that it had, as
the corpus grows: all of it, and what is private, without the pages of files that are mapped.

`scale_merge.py` simulates the merge at up to 10,000 shards, and `scale_sizes.py` measures bytes on disk of
each kind of index. The tables of docs/how-to/scale.md are computed from the results: run
docs/generate.py after it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irtoolkit.base.tables import TextTable

HERE = Path(__file__).parent.resolve()
# Texts or passages of each part.
SIZES = {"encode": 4_096, "build": 200_000, "search": 400_000}
WORKERS = (("local", 1), ("processes", 2), ("ray", 2))
CORPORA = (10_000, 100_000, 1_000_000)
PARTS = ("engines", "memory", "merge", "sizes")
# Of the numeric libraries, and of irtoolkit.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "IRTOOLKIT_THREADS")


def child(script: str, *words: Any, home: Path) -> Any:
    """What a script beside this one measures, in a process with one thread for each worker."""
    output = home / "found.json"
    environment = {
        **os.environ, **dict.fromkeys(THREADS, "1"), "IRTOOLKIT_CACHE": str(home / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    command = [sys.executable, str(HERE / script), *map(str, words)]
    command += ["--output", str(output)] if script != "scale_measure.py" else [str(output)]
    done = subprocess.run(command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    if done.returncode:
        last = (done.stdout.strip().splitlines() or [""])[-1]
        raise SystemExit(f"{script} {' '.join(map(str, words))}: {last}")
    return json.loads(output.read_text())


def alone(part: str, name: str, workers: int, size: int) -> dict[str, Any]:
    """One measurement, in a folder and a cache of its own."""
    print(f"{part} of {size:,} by {name}, {workers} workers ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as home:
        child("scale_measure.py", part, "prepare", 1, size, home=Path(home))
        found: dict[str, Any] = child(
            "scale_measure.py", part, name, workers, size, home=Path(home)
        )
    return found


def engines(scale: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every part on every engine, and the ratios."""
    rows, ratios = [], []
    for part, size in SIZES.items():
        own = [alone(part, *each, max(64, int(size * scale))) for each in WORKERS]
        rows += own
        one, two, ray = (row["s"] for row in own)
        ratios.append(
            {"part": part, "efficiency of 2 processes": one / two / 2,
             "efficiency of 2 on Ray": one / ray / 2, "Ray / processes": ray / two}
        )  # fmt: skip
    return rows, ratios


def memory(scale: float) -> list[dict[str, Any]]:
    """The driver's memory as the corpus grows."""
    return [
        alone(part, "processes", 2, max(64, int(size * scale)))
        for part in ("build", "search")
        for size in CORPORA
    ]


def measure(scale: float, parts: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "engines" in parts:
        found["engines"], found["ratios"] = engines(scale)
    if "memory" in parts:
        found["memory"] = memory(scale)
    with tempfile.TemporaryDirectory() as home:
        if "merge" in parts:
            shards = [10, 100, 1_000, *([10_000] if scale >= 1 else [])]
            found["merge"] = child("scale_merge.py", "--shards", *shards, home=Path(home))
        if "sizes" in parts:
            found["sizes"] = child("scale_sizes.py", "--scale", min(1, 4 * scale), home=Path(home))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Work spread over workers.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of all sizes")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    device = f"{platform.machine()}, {os.cpu_count()} cores"
    found = measure(args.scale, args.parts)
    for name, rows in found.items():
        cells = [list(row.values()) for row in rows]
        print("\n" + TextTable(list(rows[0]), cells, title=name, places=3).render("text"))
    if args.output:
        known = json.loads(args.output.read_text()) if args.output.exists() else {}
        scales = {**known.get("scales", {}), **dict.fromkeys(args.parts, args.scale)}
        kept = {**known, "device": device, "scales": scales, **found}
        args.output.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""One measurement of one of the systems of `index.py`, in this process.

python benchmarks/index_measure.py build SYSTEM TEXTS FOLDER THREADS MEMORY OUTPUT
python benchmarks/index_measure.py search SYSTEM TEXTS FOLDER THREADS MEMORY OUTPUT CELLS REPEATS
python benchmarks/index_measure.py first SYSTEM FOLDER QUERY
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from index_systems import SYSTEMS, System

# Spent on the repeats of one cell, at most.
SECONDS = 60.0
# Queries that are searched before time is taken, and whose best passages are compared.
AGREE = 20
FIRST = "first result:"


def build(system: System, texts: Path, folder: Path) -> dict[str, Any]:
    started, cpu = time.perf_counter(), time.process_time()
    system.build(texts / "passages", folder)
    spent = {"build s": time.perf_counter() - started, "build cpu s": time.process_time() - cpu}
    return {**spent, "disk MB": sum(path.stat().st_size for path in files(folder)) / 1e6}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def search(
    system: System, texts: Path, folder: Path, cells: list[list[int]], repeats: int
) -> dict[str, Any]:
    """Seconds to open, and queries a second in each cell: (words, k, queries)."""
    opened = []
    for _ in range(3):
        started = time.perf_counter()
        system.open(folder)
        opened.append(time.perf_counter() - started)
    found: dict[str, Any] = {"open ms": 1000 * statistics.median(opened), "cells": []}
    for length, k, count in cells:
        queries = (texts / f"queries-{length}.txt").read_text().splitlines()[:count]
        best = system.search(queries[:AGREE], k)  # what is compiled or mapped, is so now
        tops = [system.top(best, number)[:10] for number in range(len(queries[:AGREE]))]
        took: list[float] = []
        while len(took) < repeats and sum(took) < SECONDS:
            started = time.perf_counter()
            system.search(queries, k)
            took.append(time.perf_counter() - started)
        found["cells"].append(
            {"words": length, "k": k, "queries": count, "repeats": len(took), "top": tops,
             "queries/s": count / statistics.median(took)}
        )  # fmt: skip
    return found


def first(system: System, folder: Path, query: str) -> None:
    system.load(1)
    system.open(folder)
    print(FIRST, system.top(system.search([query], 10), 0), flush=True)


def main(argv: list[str]) -> None:
    verb, name, *rest = argv
    system = SYSTEMS[name]()
    if verb == "first":
        first(system, Path(rest[0]), rest[1])
        return
    (texts, folder, output), threads = map(Path, (rest[0], rest[1], rest[4])), int(rest[2])
    limit_threads(threads)
    limit_memory(int(rest[3]))
    try:
        system.load(threads)
        if verb == "build":
            found = build(system, texts, folder)
        else:
            found = search(system, texts, folder, json.loads(rest[5]), int(rest[6]))
    except Exception as error:  # a peer may fail in its own way; the others are still measured
        found = {"failed": f"{type(error).__name__}: {error}"}
    from irtoolkit.base.cores import peak_memory

    output.write_text(json.dumps({**found, "peak MB": peak_memory() / 1e6}))


def limit_threads(threads: int) -> None:
    """Lets this process see, and use, no more cores."""
    os.cpu_count = lambda: threads
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def limit_memory(most: int) -> None:
    """Lets this process take no more bytes, where the system can be told so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main(sys.argv[1:])

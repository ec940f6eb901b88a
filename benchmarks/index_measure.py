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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import index_texts
from index_systems import SYSTEMS, System

# Spent on the repeats of one cell, at most.
SECONDS = 60.0
# Queries that are searched before time is taken, and whose best passages are compared.
AGREE = 20
FIRST = "first result:"
# How queries are searched: all in one call, that and none of them ever before, or one a call.
TOGETHER, NEW, SINGLE = "together", "new", "single"


def build(system: System, texts: Path, folder: Path) -> dict[str, Any]:
    started, cpu = time.perf_counter(), time.process_time()
    system.build(texts / "passages", folder)
    spent = {"build s": time.perf_counter() - started, "build cpu s": time.process_time() - cpu}
    return {**spent, "disk MB": sum(path.stat().st_size for path in files(folder)) / 1e6}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def search(
    system: System, texts: Path, folder: Path, cells: list[dict[str, Any]], repeats: int
) -> dict[str, Any]:
    """Seconds to open, and queries a second in each cell."""
    opened = []
    for _ in range(3):
        started = time.perf_counter()
        system.open(folder)
        opened.append(time.perf_counter() - started)
    found: dict[str, Any] = {"open ms": 1000 * statistics.median(opened), "cells": []}
    for cell in cells:
        length, k, count = cell["words"], cell["k"], cell["queries"]
        queries = (texts / f"queries-{length}.txt").read_text().splitlines()[:count]
        best = system.search(queries[:AGREE], k)  # what is compiled or mapped, is so now
        tops = [system.top(best, number)[:10] for number in range(len(queries[:AGREE]))]
        took: list[float] = []
        for work in works(system, cell, queries, texts, repeats):
            started = time.perf_counter()
            work()
            took.append(time.perf_counter() - started)
            if sum(took) >= SECONDS:
                break
        figures = {"repeats": len(took), "queries/s": count / statistics.median(took)}
        found["cells"].append({**cell, **figures, "top": tops})
    return found


def works(
    system: System, cell: dict[str, Any], queries: list[str], texts: Path, repeats: int
) -> Iterator[Callable[[], object]]:
    """What is timed in a cell, once for each repeat."""
    k, count = cell["k"], cell["queries"]
    if cell["mode"] == NEW:
        lines = (texts / index_texts.NEW).read_text().splitlines()
        for first in range(0, count * repeats, count):
            yield partial(system.search, lines[first : first + count], k)
    elif cell["mode"] == SINGLE:
        system.search_one(queries[0], k)
        for _ in range(repeats):
            yield lambda: [system.search_one(query, k) for query in queries]
    else:
        for _ in range(repeats):
            yield partial(system.search, queries, k)


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

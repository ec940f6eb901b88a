"""Kept indexes beside their peers: bm25s, Lucene (Pyserini), PISA (PyTerrier) and tantivy.

    python benchmarks/index.py                                     # everything; hours on two cores
    python benchmarks/index.py --sizes 10000 100000 --queries 0.1   # a quick look
    python benchmarks/index.py --systems irtoolkit bm25s --threads 1

Measured are the seconds, processor time and memory to build, bytes on disk, time to open, the first
result of a new process from its start on, and queries a second: of queries that are searched together,
a fourth as many new ones, each set of which is searched once, and single calls. Each measurement runs
in a process of its own that sees `--threads` cores; other than new queries are searched once before
they are timed, and the median of the repeats counts. Memory is the greatest that a process had, mapped files included. Texts and
queries are drawn as `index_texts.py` says; what systems do otherwise than irtoolkit is in
`index_systems.py`, and in the notes below the table. "agree" is the share of the ten best passages
that are also among irtoolkit's.

A system that is missing or fails is named with the reason and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from index_measure import AGREE, FIRST, NEW, SINGLE, TOGETHER, files, limit_threads
from index_report import OURS, Row, compare, goals, tables
from index_systems import SYSTEMS
from index_texts import SHORT

HERE = Path(__file__).parent
# Corpus size to queries of 5 words; there are a fourth as many long ones.
QUERIES = {10_000: 4_000, 100_000: 2_000, 1_000_000: 1_000, 10_000_000: 200}
LONG = 150
# Words of a query, depth and mode, at all sizes, and those that older versions of
# BM25 here lost.
CELLS = (
    (SHORT, 10, TOGETHER), (SHORT, 10, NEW), (SHORT, 10, SINGLE), (SHORT, 1000, TOGETHER),
    (SHORT, 1000, SINGLE), (LONG, 10, TOGETHER), (LONG, 1000, TOGETHER),
)  # fmt: skip
MORE = {10_000: ((154, 1000, TOGETHER),), 1_000_000: ((10, 1000, TOGETHER),)}
DISTRIBUTIONS = {"lucene": "pyserini", "pisa": "pyterrier-pisa"}


class MeasurementError(Exception):
    """A measurement that gave no figures."""


def child(words: Sequence[Any]) -> None:
    """Runs one of the scripts beside this one.

    Raises:
        MeasurementError: it ended badly.
    """
    with tempfile.TemporaryFile("w+") as said:
        command = [sys.executable, *map(str, words)]
        status = subprocess.run(command, stdout=said, stderr=subprocess.STDOUT).returncode
        if status:
            said.seek(0)
            lines = said.read().strip().splitlines() or [""]
            raise MeasurementError(f"exit status {status}: {lines[-1]}")


def measured(verb: str, name: str, where: tuple[Path, Path], args: Any, *more: Any) -> Row:
    """What a process of `index_measure.py` measures."""
    texts, folder = where
    output = folder.parent / "measured.json"
    output.unlink(missing_ok=True)
    sizes = args.threads, args.memory * 10**9
    child([HERE / "index_measure.py", verb, name, texts, folder, *sizes, output, *more])
    found: Row = json.loads(output.read_text())
    if "failed" in found:
        raise MeasurementError(found["failed"])
    return found


def first_result(name: str, folder: Path, query: str, repeats: int) -> float:
    """Seconds from the start of a process to its first result."""
    words = ["-m", "irtoolkit", "search", folder, query]
    if name != OURS:
        words = [HERE / "index_measure.py", "first", name, folder, query]
    taken = []
    for _ in range(min(3, repeats)):
        started = time.perf_counter()
        command = [sys.executable, *map(str, words)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            lines = (line for line in process.stdout if name == OURS or line.startswith(FIRST))
            if next(lines, None) is None:
                raise MeasurementError("a new process gave no result")
            taken.append(time.perf_counter() - started)
            process.stdout.read()
    return statistics.median(taken)


def missing(name: str) -> str | None:
    """What a system lacks to run here, or None."""
    lacks = [package for package in SYSTEMS[name].needs if find_spec(package) is None]
    return f"not installed: {', '.join(lacks)}" if lacks else None


def measure(name: str, size: int, where: tuple[Path, Path], args: Any) -> Row:
    """All figures of a system for one size."""
    texts, folder = where
    row: Row = {"passages": size, "system": name, "cells": []}
    row.update(measured("build", name, where, args))
    row["build peak MB"] = row.pop("peak MB")
    if name == OURS:
        kept = [path for path in files(folder) if path.name.startswith("texts")]
        row["of which texts MB"] = sum(path.stat().st_size for path in kept) / 1e6
    cells = [
        {"words": length, "k": k, "mode": mode, "queries": asked(size, length, args.queries, mode)}
        for length, k, mode in (*CELLS, *MORE.get(size, ()))
        if k <= size
    ]
    found = measured("search", name, where, args, json.dumps(cells), args.repeats)
    row["search peak MB"] = found.pop("peak MB")
    row.update(found)
    query = (texts / f"queries-{SHORT}.txt").read_text().splitlines()[-1]
    row["first result s"] = first_result(name, folder, query, args.repeats)
    return row


def asked(size: int, length: int, scale: float, mode: str = TOGETHER) -> int:
    """How many queries are searched."""
    count = QUERIES[max((known for known in QUERIES if known <= size), default=min(QUERIES))]
    return max(AGREE, int(count * scale * (1 if length <= 10 and mode == TOGETHER else 0.25)))


# ---- the run -------------------------------------------------------------------------------------


def versions(systems: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in systems:
        distribution = DISTRIBUTIONS.get(name, name)
        try:
            found[name] = f"{distribution} {metadata.version(distribution)}"
        except metadata.PackageNotFoundError:
            continue
    return found


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(args: Any, home: Path) -> dict[str, Any]:
    """Measures everything; a system that fails once is not asked again for larger sizes."""
    rows: list[Row] = []
    failed: dict[str, str] = {}
    law = ""
    for name in args.systems:
        if (reason := missing(name)) is not None:
            failed[name] = reason
            tell(f"{name}: {reason}")
    # What is compiled for the disk, is so before anything is timed that takes long.
    sizes = [(1_000, False)] if max(args.sizes) > 1_000 else []
    for size, timed in [*sizes, *((size, True) for size in args.sizes)]:
        texts = home / "texts"
        tell(f"{size:,} passages: writing texts ..." if timed else "warming up ...")
        most = asked(size, SHORT, args.queries)
        new = args.repeats * asked(size, SHORT, args.queries, NEW)
        child([HERE / "index_texts.py", texts, size, most, new])
        law = json.loads((texts / "texts.json").read_text())["words from"]
        for name in args.systems:
            if name in failed:
                continue
            tell(f"{size:,} passages: {name} ...")
            folder = home / name
            try:
                row = measure(name, size, (texts, folder), args)
                if timed:
                    rows.append(row)
            except MeasurementError as error:
                failed[name] = f"{size:,} passages: {error}"
                tell(f"  {error}")
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(texts)
    compare(rows)
    return {
        "threads": args.threads, "queries": args.queries, "repeats": args.repeats,
        "texts": law, "python": platform.python_version(), "machine": platform.platform(),
        "versions": versions(args.systems), "left out": failed,
        "goals": [{"goal": g, "figure": f, "met": met} for g, f, met in goals(rows)], "rows": rows,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=list(QUERIES), metavar="N", help="of the corpora"
    )
    parser.add_argument(
        "--queries", type=float, default=1.0, metavar="SCALE", help="of their numbers; default: 1"
    )
    parser.add_argument("--repeats", type=int, default=5, help="of the queries; default: 5")
    parser.add_argument(
        "--systems", "--peers", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="NAME",
        help=f"default: {' '.join(SYSTEMS)}",
    )  # fmt: skip
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="of all systems; default: all cores",
    )
    parser.add_argument(
        "--memory", type=int, default=16, metavar="GB", help="that a system may take; default: 16"
    )
    parser.add_argument("--folder", type=Path, help="for texts and indexes; default: temporary")
    parser.add_argument(
        "-o", "--output", type=Path, default=HERE / "results/index.json", metavar="FILE"
    )
    args = parser.parse_args(argv)
    if OURS not in args.systems:
        args.systems.insert(0, OURS)  # ratios are to it
    limit_threads(args.threads)
    with tempfile.TemporaryDirectory(dir=args.folder) as home:
        found = run(args, Path(home))
    for table in tables(found["rows"]):
        print(table.to_text(), end="\n\n")
    for name, reason in found["left out"].items():
        print(f"{name} is left out: {reason}")
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Why BM25 misses passages of books, and which system finds them: the reading of a sample of queries.

    IRTOOLKIT_DATA=../shared/data python benchmarks/failures.py
    IRTOOLKIT_DATA=../shared/data python benchmarks/failures.py --sheets FOLDER

Runs are those of benchmarks/quality.py: BM25, MiniLM, and what was chosen of those that read what is
around a passage. --sheets writes the sheets that are to be filled in. What was filled in is kept
without the texts in results/failures-BENCHMARK.tsv, and counted into results/failures.json.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from quality import HERE, RESULTS
from quality_rows import read_tables, runs_of

from irtoolkit.base.files import atomic_text
from irtoolkit.cli import main as command

BENCHMARKS = ("relic", "plotretrieval")
COUNTED = HERE / "results" / "failures.json"


def systems(name: str) -> tuple[str, dict[str, Path]]:
    """The dataset of a benchmark, and the run of each system that is looked at."""
    table = read_tables(HERE / "quality.toml")[name]
    about = json.loads(RESULTS.read_text("utf-8"))["benchmarks"][name]["about"]
    chosen = about["best surroundings"]["chosen"][0]
    wanted = ("BM25", "MiniLM", chosen)
    runs = runs_of(table, table.report, [row for row in table.rows if row.name in wanted])
    return table.report, {row: runs[row] for row in wanted}


def analysed(name: str, *further: str) -> dict[str, Any]:
    """What `irtoolkit analyse failures` tells of a benchmark."""
    dataset, runs = systems(name)
    line = ["analyse", "failures", dataset, *map(str, runs.values()), "--format", "json", *further]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        status = command(line)
    if status:
        raise SystemExit(f"irtoolkit {' '.join(line)} failed")
    found: dict[str, Any] = json.loads(told.getvalue())
    names = {path.name: system for system, path in runs.items()}
    return {"dataset": dataset, "systems": list(runs), "tables": _named(found["tables"], names)}


def _named(value: Any, names: dict[str, str]) -> Any:
    """Tables with the names of systems in place of those of files."""
    if isinstance(value, dict):
        return {_named(key, names): _named(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_named(one, names) for one in value]
    if isinstance(value, str):
        for file, system in names.items():
            value = value.replace(file, system)
    return value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help="default: all")
    parser.add_argument("--sheets", metavar="FOLDER", type=Path, help="write sheets to fill in")
    args = parser.parse_args()
    names = args.benchmarks or BENCHMARKS
    if args.sheets is not None:
        args.sheets.mkdir(parents=True, exist_ok=True)
        for name in names:
            analysed(name, "--sheet", str(args.sheets / f"failures-{name}.tsv"))
        return
    counted = json.loads(COUNTED.read_text("utf-8")) if COUNTED.is_file() else {}
    for name in names:
        counted[name] = analysed(name, "--sheets", str(COUNTED.with_name(f"failures-{name}.tsv")))
    with atomic_text(COUNTED) as file:
        json.dump(counted, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()

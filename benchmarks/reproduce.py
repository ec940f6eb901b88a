"""Measures every paper's table again, as far as data and weights are here: benchmarks/results/reproduce.

    python benchmarks/reproduce.py                       # every table
    python benchmarks/reproduce.py csfcube relic --about "relic=Windows of public-domain books."

A file for each table holds what `irtoolkit reproduce TABLE --format json` prints; where none of a table's
data are here, what the rows need and the paper's figures. Runs are kept in --runs, so that a command
that was interrupted resumes. `python docs/generate.py` makes the pages of the results from the files.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.papers.catalogue import find_table, tables
from irtoolkit.papers.listing import row_states
from irtoolkit.papers.reproduce import reproduce, survey
from irtoolkit.papers.result_json import as_json
from irtoolkit.papers.results import TableResult
from irtoolkit.papers.tables import Table

RESULTS = Path(__file__).parent / "results" / "reproduce"
# Variables that name folders.
FOLDERS = ("IRTOOLKIT_DATA", "IRTOOLKIT_CACHE", "IR_DATASETS_HOME", "HF_HOME")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="default: all")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="default: runs/")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="SYSTEM", help="rows that are not run"
    )
    parser.add_argument("--sample", action="store_true", help="measure the invented samples")
    parser.add_argument(
        "--about", nargs="+", default=[], metavar="BENCHMARK=TEXT",
        help="a sentence on the data of a benchmark, for its page; kept from the last time by default",
    )  # fmt: skip
    args = parser.parse_args()
    about = dict(pair.split("=", 1) for pair in args.about)
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.tables or tables():
        table = find_table(name)
        path = args.output / f"{name}.json"
        found = as_json(measured(table, args.runs, args.sample, args.without))
        text = about.get(table.benchmark) or said_before(path)
        with atomic_text(path) as out:
            out.write(portable(json.dumps({**found, "about_data": text}, indent=1)) + "\n")
        ran = sum(bool(row["measured"]) for row in found["rows"])
        print(f"{path}: {ran} of {len(found['rows'])} rows measured")


def measured(table: Table, runs: Path, sample: bool, without: Sequence[str]) -> TableResult:
    """What came of a table; what its rows need, where none can be measured here."""
    states = {one.system: one.state for one in row_states(table)}
    # A row that is named is run even if it asks a service that costs money.
    asked = [
        name for name, state in states.items() if {name, state}.isdisjoint({*without, "service"})
    ]
    if all(table.find_row(name).retriever is None for name in asked):
        return survey(table)
    try:
        found = reproduce(table, runs, systems=asked, sample=sample, say=print)
    except InputError as error:
        print(f"{table.name}: {error}")
        return survey(table)
    rows = {one.row.system: one for one in (*survey(table).rows, *found.rows)}
    return replace(found, rows=tuple(rows[row.system] for row in table.rows))


def said_before(path: Path) -> str | None:
    """What the file of an earlier measurement says of the data."""
    return json.loads(path.read_text("utf-8"))["about_data"] if path.is_file() else None


def portable(text: str) -> str:
    """JSON without the folders of this machine."""
    named = {f"${key}": os.environ.get(key) for key in FOLDERS} | {"~": str(Path.home())}
    for name, folder in named.items():
        if folder:
            text = text.replace(json.dumps(folder)[1:-1], name)
    return text


if __name__ == "__main__":
    main()

"""Figures of hidden data, which nobody here can score: what was asked of their keepers, and what they answered.

    python benchmarks/hidden.py FIGURES
    IRTOOLKIT_DATA=DATA python benchmarks/hidden.py FIGURES --runs RUNS

FIGURES is the keepers' answer, a table with tabs and the columns data, system and figure, such as hidden.tsv. It is written to
benchmarks/results/hidden.json, of which docs/generate.py makes parts of docs/results/quality.md. --runs ranks those hidden queries
that DATA has without judgments, RELiC's, by the same systems, to be handed in.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, read_lines

RESULTS = Path(__file__).resolve().parent / "results" / "hidden.json"
COLUMNS = ["data", "system", "figure"]
# By data: the measure, and what the hidden queries are.
DATA = {
    "relic": ("R@10", "77 queries about two novels by Jane Austen"),
    "plotretrieval": ("NRODCG@10", "62 descriptions by readers"),
    "quoter": ("RR", "contexts that are not in the files"),
    "egret": ("R@1", "answers of a fourth site of Stack Exchange"),
}
# Systems of RELiC's table, with their settings; those of other data are named by the answer alone.
RELIC: dict[str, tuple[str, dict[str, Any]]] = {
    "BM25": ("BM25-4-4", {}),
    "surroundings": ("bm25-surroundings", {"around": "1/16/64", "weight": 0.85, "fade": 0.7}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("figures", type=Path, metavar="FIGURES")
    parser.add_argument(
        "--runs", type=Path, metavar="RUNS", help="rank RELiC's hidden queries, too"
    )
    args = parser.parse_args()
    made = {
        name: {"measure": measure, "queries": queries, "rows": {}}
        for name, (measure, queries) in DATA.items()
    }
    for name, system, figure in read(args.figures):
        made[name]["rows"][system] = figure
    with atomic_text(RESULTS) as out:
        out.write(json.dumps(made, indent=1) + "\n")
    if args.runs is not None:
        args.runs.mkdir(parents=True, exist_ok=True)
        for system, (retriever, settings) in RELIC.items():
            path = args.runs / f"relic.{system}.run"
            ir.retrieve("relic/test", retriever, depth=100, output=path, **settings)


def read(path: Path) -> list[tuple[str, str, float]]:
    """The data, the system and the figure of each row.

    Raises:
        InputError: other columns, data that nobody hides, or a figure that is no share.
    """
    lines = list(read_lines(path))
    rows = list(csv.reader((line for _, line in lines), delimiter="\t"))
    if not rows or rows[0] != COLUMNS:
        raise InputError(f"the columns are not {', '.join(COLUMNS)}", file=path, line=1)
    found = []
    for number, row in enumerate(rows[1:], 2):
        try:
            name, system, figure = row[0], row[1], float(row[2])
        except (IndexError, ValueError):
            raise InputError("a row is data, system and figure", file=path, line=number) from None
        if name not in DATA or not 0 <= figure <= 1:
            expected = f"one of {', '.join(DATA)}, and a figure from 0 to 1"
            raise InputError(f"{name} {figure}", file=path, line=number, remedy=expected)
        found.append((name, system, figure))
    return found


if __name__ == "__main__":
    main()

"""Measure a paper's table again.

Runs every system of the table that can run here, writes the TREC runs, and prints measured
figures beside the paper's, with the difference and the significance against a baseline. Systems
that cannot run say the one thing that is missing. Runs already there are taken as they are when
they were made from the same data and settings, so an interrupted command goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from irtoolkit.commands import add_format, note, print_json

HELP = "measure a paper's table again"
EXAMPLES = (
    "irtoolkit reproduce csfcube --sample",
    "irtoolkit reproduce csfcube --systems random fabs_bm25 --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT")
    parser.add_argument("--systems", nargs="+", default=[], metavar="S", help="default: all rows")
    parser.add_argument("--out", default="runs", metavar="FOLDER", help="default: runs/")
    parser.add_argument("--sample", action="store_true", help="use the invented sample collection")
    parser.add_argument("--baseline", metavar="S", help="system to test against")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.tables import TextTable
    from irtoolkit.experiments.rendering import as_json, as_tables
    from irtoolkit.experiments.reproduce import reproduce
    from irtoolkit.experiments.tables import find_table

    table = find_table(args.experiment)
    systems = [name for text in args.systems for name in text.split(",") if name]
    results = reproduce(
        table, Path(args.out), systems=systems, sample=args.sample, baseline=args.baseline, say=note
    )
    if args.format == "json":
        print_json(as_json(table, results, args.sample))
        return
    baseline = args.baseline or table.baseline
    parts = as_tables(table, results, args.sample, baseline)
    if args.format == "csv":  # one table, which says in each row what a title cannot
        rows = [[g, *row] for g, part in zip(table.groups, parts, strict=True) for row in part.rows]
        print(TextTable(["group", *parts[0].headers], rows).render("csv"))
        return
    for part in parts:
        print(part.render(args.format))

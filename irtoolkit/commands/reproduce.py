"""Measure a paper's table again.

Runs every system of the table that can run here and writes its TREC runs. The last screen is one
table of the rows that ran, then one line on what the other rows need, then the path of an HTML
report. --all prints every row with the figures of the paper, the measured ones and the differences;
--list runs nothing and says what gives the figures of each row: a command, weights, a recipe or
people; without EXPERIMENT, it lists the tables. --missing lists what each row needs here. A run that is already in the folder and was
made from the same data and settings is reused. To resume an interrupted command, rerun it.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import shown
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import (
    add_format,
    add_hidden,
    argument,
    note,
    output_folder,
    parse_pairs,
    print_json,
    print_table,
)
from irtoolkit.commands._engines import add_engine

if TYPE_CHECKING:
    from irtoolkit.papers.results import TableResult
    from irtoolkit.papers.tables import Table

HELP = "measure a paper's table again"
OUTPUT = "runs"
EXAMPLES = (
    "irtoolkit reproduce csfcube --sample",
    "irtoolkit reproduce csfcube --systems random fabs_bm25 --format json",
    "irtoolkit reproduce --list",
    "irtoolkit reproduce csfcube --list",
    "irtoolkit reproduce csfcube --missing",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[EXPERIMENT]", "a table; --list lists them")
    add("--systems S...", "rows to run; default: all")
    add("--weights MODEL=PATH...", "a folder or hub id to take in place of a model's weights")
    add(
        "-o, --output FOLDER",
        "folder of the runs; default: runs/",
        default=OUTPUT,
        type=output_folder,
        dest="out",
    )
    add_hidden(parser, "--out", of="--output")
    add("--sample", "use the invented sample collection")
    add("--baseline S", "system to test against")
    group = partial(argument, parser.add_mutually_exclusive_group())
    group("--all", "print every row with measured and reported figures")
    group("--list", "run nothing; list the rows and what gives their figures")
    group("--missing", "run nothing; list what each row needs to run here")
    add_format(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.papers.catalogue import find_table
    from irtoolkit.papers.systems import with_weights

    named = [name for text in args.systems for name in text.split(",") if name]
    systems = [name.removeprefix(f"{args.experiment}:") for name in named]
    _check_used(args)
    if args.experiment is None:
        _list_tables(args, systems)
        return
    table = with_weights(find_table(args.experiment), parse_pairs(args.weights))
    baseline = args.baseline and args.baseline.removeprefix(f"{table.name}:")
    if args.list:
        _list_rows(table, systems, args.format)
        return
    if args.missing:
        _list_missing(table, systems, args.format)
        return
    chosen = table.select(systems, baseline)
    if all(row.retriever is None for row in chosen) and (args.all or args.format != "text"):
        from irtoolkit.papers.reproduce import survey

        _print_figures(survey(table, systems=systems), args.format)
        return
    # Said before the imports that take a second.
    note(f"{table.name}: {number_of(len(chosen), 'rows')}, runs in {shown(args.out)}")
    from irtoolkit.papers.reproduce import reproduce

    result = reproduce(
        table, Path(args.out), systems=systems, sample=args.sample, baseline=baseline, say=_say
    )
    if args.format == "text" and not args.all:
        _print_summary(result, Path(args.out))
    else:
        _print_figures(result, args.format)


def _say(line: str) -> None:
    """Writes a line of progress above the bar, if there is one."""
    import sys

    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def _check_used(args: argparse.Namespace) -> None:
    """Raises InputError if a flag is given that a list of rows does not read."""

    mode = "--list" if args.list else "--missing" if args.missing else None
    unread = {
        "--sample": args.sample,
        "--baseline": args.baseline is not None,
        "--output": args.out != OUTPUT,
        "--weights": args.weights and args.experiment is None,
    }
    for flag, value in unread.items():
        if mode is not None and value:
            raise InputError(f"{flag} changes nothing with {mode}", remedy="leave it out")


def _list_tables(args: argparse.Namespace, systems: list[str]) -> None:
    from irtoolkit.papers.catalogue import tables
    from irtoolkit.papers.listing import overview, row_states

    if not args.list or systems:
        raise InputError(
            "no EXPERIMENT is named",
            remedy=f"name one of {', '.join(tables())}, or give --list alone; see"
            " irtoolkit reproduce --help",
        )
    if args.format == "json":
        by_table = {name: row_states(table) for name, table in tables().items()}
        print_json(
            {name: {row.system: row.state for row in states} for name, states in by_table.items()}
        )
    else:
        print(overview(tables()).render(args.format))


def _list_rows(table: Table, systems: list[str], form: str) -> None:
    from dataclasses import asdict

    from irtoolkit.papers.listing import listing, row_states

    records = [asdict(row) for row in row_states(table, systems)]
    print_table(form, listing(table, systems), records)


def _list_missing(table: Table, systems: list[str], form: str) -> None:
    from irtoolkit.papers.data import absent_lines
    from irtoolkit.papers.reproduce import survey
    from irtoolkit.papers.summary import missing_lines, missing_table

    absent = absent_lines(table)
    for line in absent:
        note(f"no data: {line}")
    result = survey(table, systems=systems)
    if form == "text":
        summary = "Every row can run here" + (", once the data are here." if absent else ".")
        print("\n".join(missing_lines(result) or [summary]))
    else:
        print_table(form, missing_table(result))


def _print_figures(result: TableResult, form: str) -> None:
    from irtoolkit.papers.rendering import as_tables
    from irtoolkit.papers.result_json import as_json

    if form == "json":
        print_json(as_json(result))
    else:
        _print_tables(as_tables(result), list(result.table.groups), form)


def _print_tables(parts: list[TextTable], groups: list[str], form: str) -> None:
    from dataclasses import replace

    from irtoolkit.papers.summary import folded

    if form == "csv":  # one table, which says in each row what a title cannot
        rows = [[g, *row] for g, part in zip(groups, parts, strict=True) for row in part.rows]
        print(TextTable(["group", *parts[0].headers], rows).render("csv"))
        return
    for part in parts:
        if form == "text":
            part = replace(part, notes=[line for text in part.notes for line in folded(text)])
        print(part.render(form))


def _print_summary(result: TableResult, out: Path) -> None:
    """Prints the last screen: one table of the rows that ran, the others' needs, and a report."""
    from irtoolkit.papers.summary import as_summary, closing_lines

    measured = bool(result.measured_groups())
    report = _write_report(result, out) if measured else None
    print()
    if measured:
        print(as_summary(result).render("text"))
    for line in closing_lines(result):
        print(line)
    if report is not None:
        print(f"Report: {shown(report)}")


def _write_report(result: TableResult, out: Path) -> Path:
    """Writes the report on the first group that was measured; returns its file."""
    from irtoolkit.papers.summary import most_telling
    from irtoolkit.reports.compose import ReportOptions
    from irtoolkit.reports.write import report_scores

    group, table = result.measured_groups()[0], result.table
    path = out / f"{table.name}{'-sample' if result.sample else ''}.html"
    options = ReportOptions(chart=table.columns[table.tested], pair=most_telling(result, group))
    report_scores(result.scores[group], [path], options)
    return path

"""Make an analysis of one of the papers again.

An analysis is a table or a figure about data, rankings, or what people judged: --list lists them.
DATASET is by default what the paper analysed; --sample takes the invented sample. Any dataset of the
same form can be analysed. Where an analysis is about rankings, RUN is a file that `irtoolkit retrieve`
wrote, and without one the analysis ranks with its own system, or with --system. Where the data are
the paper's, its figures are shown below the measured ones. With -o each table is written as CSV,
each figure as SVG, and a page with both. Where people judge, --sheet writes a sheet for them (.csv or .tsv), and --sheets
reads what they filled in; where no ranking is needed, sheets may be named like datasets.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import (
    add_format,
    add_settings,
    argument,
    note,
    output_file,
    output_folder,
    parse_pairs,
    print_json,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from irtoolkit.papers.analyses.base import Analysis
    from irtoolkit.papers.analyses.result import AnalysisResult

HELP = "make an analysis of one of the papers again"
EXAMPLES = (
    "irtoolkit analyse --list",
    "irtoolkit analyse csfcube-agreement --sample",
    "irtoolkit analyse csfcube-facets --sample -o figures",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("[ANALYSIS]", "an analysis; --list lists them")
    add(
        "[DATASET|RUN...]",
        "datasets, and files of rankings; default: the paper's dataset",
        dest="inputs",
    )
    add("--list", "list the analyses")
    add("--sample", "use the invented sample collection")
    add("--system S", "system to rank with where no RUN is given")
    add(
        "-o, --output FOLDER",
        "write tables as CSV, figures as SVG and a page with both to FOLDER",
        type=output_folder,
    )
    add("--sheet FILE", "write a sheet for people to fill in", type=output_file)
    add("--sheets FILE...", "sheets that people filled in")
    add_settings(parser)
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    if args.list:
        _print_list(args)
        return
    if args.analysis is None:
        raise InputError(
            "no ANALYSIS is named", remedy="irtoolkit analyse --list lists the analyses"
        )
    from irtoolkit.papers.analyses.analyse import analyse
    from irtoolkit.papers.analyses.catalogue import find_analysis

    chosen = find_analysis(args.analysis).with_settings(parse_pairs(args.settings))
    runs = [name for name in args.inputs if is_file(name)]
    datasets = [name for name in args.inputs if name not in runs]
    sheets = list(args.sheets)
    if chosen.people and not chosen.system:  # no file can be a ranking
        sheets, runs = [*sheets, *runs], []
    result = analyse(
        chosen,
        datasets,
        runs,
        sample=args.sample,
        system=args.system,
        sheets=sheets,
        sheet=args.sheet,
    )
    if args.sheet is not None:
        note(f"{args.sheet}: a sheet to fill in; --sheets reads it")
    _print(result, args.format)
    if args.output is not None:
        from irtoolkit.papers.analyses.files import write_files

        for path in write_files(result, Path(args.output)):
            note(str(path))


def _print_list(args: argparse.Namespace) -> None:
    from irtoolkit.papers.analyses.catalogue import analyses

    if args.analysis is not None or args.inputs:
        raise InputError("--list beside an ANALYSIS", remedy="give one of the two")
    members = analyses().values()
    rows = [[analysis.name, analysis.title, _subject(analysis)] for analysis in members]
    records = [{"analysis": a.name, "title": a.title, "datasets": a.datasets} for a in members]
    print_table(args.format, TextTable(["analysis", "what it shows", "of"], rows), records)


def _subject(analysis: type[Analysis]) -> str:
    """Returns the subject of an analysis: people, prompts, rankings or data."""
    if analysis.people:
        return "people"
    if analysis.prompted:
        return "prompts"
    return "rankings" if analysis.system else "data"


def _print(result: AnalysisResult, form: str) -> None:
    from irtoolkit.papers.analyses.files import csv_table
    from irtoolkit.papers.analyses.result import as_json, as_latex, as_tables, closing_lines

    if form == "json":
        print_json(as_json(result))
        return
    if form == "csv":
        print("\n\n".join(csv_table(table).render("csv") for table in result.findings.tables))
        return
    if form == "latex":
        print(as_latex(result))
        return
    tables = [table.render(form) for table in as_tables(result)]
    if tables:
        print("\n\n".join(tables))
    for line in closing_lines(result):
        print_lines(line)

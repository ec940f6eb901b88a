"""Write a comparison of runs as a page, tables and pictures.

A page (.html) holds everything it shows and loads nothing from the network. It opens with who was best
and by how much on the benchmark's main measure. A table, from the best system to the worst, has each
one's figures with 95% intervals, the difference from the baseline or the best with its corrected p,
letters for significant differences, and the command that made its run. Below are the queries on which
two systems differ, the ranks of the first relevant documents, the dataset's breakdowns, and for each
query its text, its relevant documents and each system's first documents, side by side. A table
(.tex, .md) has the figures; one in LaTeX fits a column.

Every pair of systems is tested on every measure, by a paired test over all judged queries that is
corrected for the number of pairs. With --baseline only the pairs with that run are tested, as in
`irtoolkit compare`. Ranks of relevant documents are exact over all candidates for runs of
`irtoolkit retrieve`, which writes these ranks to a file beside the run. The default measures are
the dataset's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError, check_installed
from irtoolkit.base.paths import is_url, on_disk, shown
from irtoolkit.commands import add_measures, argument, note, output_file, output_folder
from irtoolkit.commands._datasets import add_judged, judged_dataset

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset

# Bytes of a page above which its size is logged.
_LARGE = 1_000_000
HELP = "write a comparison of runs as a page, tables and pictures"
EXAMPLES = (
    "irtoolkit report csfcube/sample runs/bm25.run runs/tfidf.run -o report.html -o table.tex",
    "irtoolkit report relic/sample/val relic-val.run -o relic.html --chart R@10 --names BM25",
    "irtoolkit report csfcube runs/*.run -o report.html --figures figures",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add_judged(parser)
    add(
        "-o, --output FILE",
        "a file that ends in .html, .tex or .md; may be repeated",
        action="append",
        default=[],
        type=output_file,
    )
    add(
        "--figures FOLDER",
        "draw the charts as PDF and SVG files in this folder",
        type=output_folder,
    )
    add_measures(parser)
    add("--chart M", "measure that the report opens with; default: the benchmark's")
    add(
        "--pair RUN RUN",
        "the two runs that charts show first; default: the best, and the baseline or the runner-up",
        default=[],
    )
    add("--names NAME...", "one for each run")
    add(
        "--analysis NAME...",
        "analyses that the page shows, too; irtoolkit analyse --list lists them",
    )
    _add_tests(parser)
    add("--rel N", "lowest relevant grade; default: that of the measures", least=1)
    add(
        "--texts N",
        "number of queries that the page shows with texts; default: as many as a page of 1 MB"
        " holds, and at most 200",
        least=0,
    )
    _add_tables(parser)


def _add_tests(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("--baseline RUN", "the run that others are tested against; default: all pairs are tested")
    add(
        "--test",
        "paired test; default: student, a t-test; a measure that it does not compare is not tested",
        choices=("student", "fisher", "wilcoxon"),
        default="student",
    )
    add(
        "--correction",
        "for the number of comparisons",
        choices=("holm", "bonferroni", "none"),
        default="holm",
    )


def _add_tables(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add(
        "--order",
        "systems from the best to the worst, or as the runs are given",
        choices=("best", "given"),
        default="best",
    )
    add("--intervals", "also write intervals to .tex and .md tables")
    add("--percent", "figures from 0 to 1 in percent, in .tex and .md")
    add("--digits N", "decimals of figures in .tex and .md tables", type=int)
    add("--caption TEXT", "caption of the .tex table")


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.commands import measures_of
    from irtoolkit.reports.compose import ReportOptions, compose
    from irtoolkit.reports.papers import TableStyle
    from irtoolkit.reports.write import check_form, write_report
    from irtoolkit.scoring.score import score

    if not args.output and args.figures is None:
        raise InputError("nothing to write", remedy="name a file with -o, or --figures FOLDER")
    forms = [check_form(path) for path in args.output]
    style = TableStyle(args.intervals, args.percent, args.digits, args.caption)
    if args.figures is not None:
        check_installed("matplotlib", "report")
    if style != TableStyle() and not {".tex", ".md"} & set(forms):
        note(
            "note: --intervals, --percent, --digits and --caption are of .tex and .md tables alone"
        )
    if args.analysis and ".html" not in forms:
        raise InputError("--analysis is shown on a page", remedy="name an .html file with -o")
    dataset, runs = judged_dataset(args)
    scored = score(dataset, runs, measures_of(args), precision=args.precision)
    for line in scored.notes:
        note(str(line))
    options = ReportOptions(
        names=args.names,
        chart=args.chart,
        pair=args.pair,
        baseline=args.baseline,
        test=args.test,
        correction=args.correction,
        rel=args.rel,
        order=args.order,
        texts=args.texts if ".html" in forms else 0,
    )
    report = replace(compose(scored, options), analyses=_sections(args.analysis, dataset, runs))
    for path in args.output:
        write_report(report, path, style)
        print(shown(path))
        _tell_size(path, args.texts)
    if args.figures is not None:
        from irtoolkit.reports.figures import write_figures

        for drawn in write_figures(report, args.figures):
            print(shown(drawn))


def _tell_size(path: str, texts: int | None) -> None:
    """Says how large a page on this machine is that is larger than most mails and sites take."""
    size = 0 if is_url(path) else on_disk(path).stat().st_size
    if size > _LARGE:
        remedy = (
            "" if texts is None else "; fewer --texts make it smaller, by default they fit 1 MB"
        )
        note(f"note: {shown(path)} has {size / 1e6:.1f} MB{remedy}")


def _sections(
    names: Sequence[str], dataset: Dataset, runs: Sequence[str]
) -> tuple[tuple[str, str, str], ...]:
    """Returns the sections of analyses, of the dataset or of the runs."""
    from irtoolkit.papers.analyses.analyse import analyse
    from irtoolkit.papers.analyses.catalogue import find_analysis
    from irtoolkit.papers.analyses.files import section_of

    sections = []
    for name in dict.fromkeys(names):
        analysis = find_analysis(name)
        ranked = bool(analysis.system) and not analysis.prompted
        sections.append(section_of(analyse(name, dataset, runs if ranked else ())))
    return tuple(sections)

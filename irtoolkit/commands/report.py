"""Write a comparison of runs as a page, tables and pictures.

A page (.html) holds everything it shows and asks for nothing from outside: the figures of every
system with 95% intervals and letters for significant differences, the queries on which two systems
differ, where each puts the gold, the parts that the dataset declares, and for each query its text,
its gold and each system's top documents, side by side. A table (.tex, .md) holds the figures.

Every pair of systems is tested on every measure, with a paired test over all judged queries that
is corrected for the number of pairs; with --baseline only the pairs with that run, as `irtoolkit
compare` does. Ranks of the gold are exact over all candidates where the ranks that `irtoolkit
retrieve` keeps stand beside the run. Without --measures the dataset's own are used.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from irtoolkit.commands import add_measures, note

if TYPE_CHECKING:
    pass

HELP = "write a comparison of runs as a page, tables and pictures"
EXAMPLES = (
    "irtoolkit report csfcube/sample runs/bm25.run runs/tfidf.run -o report.html -o table.tex",
    "irtoolkit report relic/sample/val relic-val.run -o relic.html --chart R@10 --names BM25",
    "irtoolkit report csfcube runs/*.run -o report.html --figures figures",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE",
        help=".html, .tex or .md, by its name; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--figures", metavar="FOLDER", help="draw the charts as PDF and SVG files in this folder"
    )
    add_measures(parser)
    parser.add_argument(
        "--chart", metavar="M", help="measure that charts show (first); default: the first measure"
    )
    parser.add_argument(
        "--pair", nargs=2, default=[], metavar="RUN",
        help="the two runs that charts show (first); default: the first two",
    )  # fmt: skip
    parser.add_argument("--names", nargs="+", default=[], metavar="NAME", help="one for each run")
    parser.add_argument("--baseline", metavar="RUN", help="test against this run only")
    parser.add_argument("--test", choices=("student", "fisher", "wilcoxon"), default="student")
    parser.add_argument("--correction", choices=("holm", "bonferroni", "none"), default="holm")
    parser.add_argument(
        "--rel", type=int, metavar="N", help="lowest grade of gold; default: what the measures say"
    )
    parser.add_argument(
        "--texts", type=int, default=200, metavar="N",
        help="queries whose texts the page holds; default: 200",
    )  # fmt: skip
    parser.add_argument(
        "--intervals", action="store_true", help="put intervals into .tex and .md tables too"
    )


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.commands import measures_of
    from irtoolkit.reports.compose import ReportOptions, compose
    from irtoolkit.reports.write import check_form, write_report
    from irtoolkit.scoring.score import score

    if not args.output and args.figures is None:
        raise InputError("nothing to write", remedy="name a file with -o, or --figures FOLDER")
    forms = [check_form(path) for path in args.output]
    if args.texts < 0:
        raise InputError(f"--texts {args.texts} is below 0")
    if args.figures is not None:
        _need_matplotlib()
    scored = score(args.dataset, args.runs, measures_of(args))
    for line in scored.notes:
        note(str(line))
    options = ReportOptions(
        names=args.names, chart=args.chart, pair=args.pair, baseline=args.baseline,
        test=args.test, correction=args.correction, rel=args.rel,
        texts=args.texts if ".html" in forms else 0,
    )  # fmt: skip
    report = compose(scored, options)
    for path in args.output:
        write_report(report, path, intervals=args.intervals)
        print(path)
    if args.figures is not None:
        from irtoolkit.reports.figures import write_figures

        for drawn in write_figures(report, args.figures):
            print(drawn)


def _need_matplotlib() -> None:
    """Says that it is missing before the work, not after."""
    from importlib.util import find_spec

    from irtoolkit.base.errors import needs_extra

    if find_spec("matplotlib") is None:
        raise needs_extra("matplotlib", "report")

"""Test whether runs differ on a measure by more than chance.

Every run is tested against the baseline (by default the first) with a paired test over all judged
queries, corrected for the number of comparisons. The interval is a 95% bootstrap of the mean over
queries; d is Cohen's d of the paired differences; + and - count the queries won and lost.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from irtoolkit.commands import add_format, note, print_json

HELP = "test runs against a baseline for significance"
EXAMPLES = (
    'irtoolkit compare csfcube/sample runs/bm25.run runs/tfidf.run --measure "nDCGp(p=20)"',
    "irtoolkit compare csfcube/sample runs/*.run --measure AP --baseline runs/bm25.run --test fisher",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--measure", required=True, metavar="M")
    parser.add_argument("--baseline", metavar="RUN", help="default: the first run")
    parser.add_argument("--test", choices=("student", "fisher", "wilcoxon"), default="student")
    parser.add_argument("--correction", choices=("holm", "bonferroni", "none"), default="holm")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError
    from irtoolkit.scoring.compare import compare
    from irtoolkit.scoring.score import score

    baseline = args.baseline or args.runs[0]
    # The same file may be spelled in two ways.
    same = [run for run in args.runs if Path(run).resolve() == Path(baseline).resolve()]
    baseline = same[0] if same else baseline
    paths = args.runs if same else [baseline, *args.runs]
    if len(paths) < 2:
        raise InputError("one run cannot be compared", remedy="name at least two")
    scores = score(args.dataset, paths, args.measure)
    if len(scores.measures) != 1:
        raise InputError(f"--measure takes one measure, not {len(scores.measures)}")
    (measure,) = scores.measures
    for line in scores.notes:
        note(str(line))
    found = compare(
        scores.evaluations, measure, baseline=baseline, test=args.test,
        correction=args.correction, title=f"{args.dataset}: {scores.averaging}",
    )  # fmt: skip
    if args.format == "json":
        print_json(
                {
                    "dataset": args.dataset, "measure": measure, "baseline": baseline,
                    "test": args.test, "correction": args.correction,
                    "systems": [asdict(row) for row in found],
                })  # fmt: skip
        return
    print(found.table(exact=args.format == "csv").render(args.format))

"""Test whether runs differ on a measure by more than chance.

Every run is tested against the baseline (by default the first) with a paired test over all judged
queries, corrected for the number of comparisons. The interval is a 95% bootstrap of the mean over
queries; d is Cohen's d of the paired differences; + and - count the queries won and lost.

Where the figure is a geometric mean, the interval is of that, and logarithms are tested. A median takes
the test wilcoxon only and has no d; a standard deviation is not compared.

--engine ranx prints ranx's report instead: ranx's values of one or several measures, and beside
each the letters of the runs that it beats with a p-value of at most --max-p, or --alpha. Every pair of runs is
tested, with the tests and corrections that are the default engine's; ranx knows no wilcoxon.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import same_place
from irtoolkit.commands import (
    add_format,
    add_measures,
    argument,
    measures_of,
    note,
    print_json,
    print_table,
)
from irtoolkit.commands._datasets import add_judged, judged_dataset

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset

HELP = "test runs against a baseline for significance"
EXAMPLES = (
    'irtoolkit compare csfcube/sample runs/bm25.run runs/tfidf.run --measure "nDCGp(p=20)"',
    "irtoolkit compare csfcube/sample runs/*.run --measure AP --baseline runs/bm25.run --test fisher",
    'irtoolkit compare csfcube/sample runs/*.run --measure "ndcg@10 map" --engine ranx --max-p 0.05',
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add_judged(parser)
    add_measures(parser, default="the dataset's main one")
    add("--baseline RUN", "the run that others are tested against; default: the first")
    add(
        "--test",
        "paired test; default: student, a t-test, or wilcoxon for a median",
        choices=("student", "fisher", "wilcoxon"),
    )
    add(
        "--correction",
        "for the number of comparisons",
        choices=("holm", "bonferroni", "none"),
        default="holm",
    )
    add(
        "--alpha P",
        "mark the runs whose corrected p-value is at most this, such as 0.05",
        type=float,
    )
    add("--engine", "whose report is printed", choices=("irtoolkit", "ranx"), default="irtoolkit")
    add("--max-p P", "of ranx: the highest p-value that is marked; default: 0.01", type=float)
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.api import compare

    _check_levels(args)
    dataset, runs = judged_dataset(args)
    baseline = args.baseline or runs[0]
    # The same file may be spelled in two ways.
    same = [run for run in runs if same_place(run) == same_place(baseline)]
    baseline = same[0] if same else baseline
    paths = runs if same else [baseline, *runs]
    if len(paths) < 2:
        raise InputError("one run cannot be compared", remedy="name at least two")
    if args.engine == "ranx":
        args.max_p = args.alpha if args.max_p is None else args.max_p
        _by_ranx(args, dataset, paths)
        return
    comparison = compare(
        dataset,
        paths,
        measure=_measure(args, dataset),
        baseline=baseline,
        test=args.test,
        correction=args.correction,
        alpha=args.alpha,
        precision=args.precision,
    )
    for line in comparison.warnings():
        note(line)
    record = {
        "dataset": dataset.id,
        "measure": comparison.measure,
        "baseline": baseline,
        "test": comparison.test,
        "correction": args.correction,
        **({} if comparison.alpha is None else {"alpha": comparison.alpha}),
        "systems": [asdict(row) for row in comparison],
    }
    print_table(args.format, comparison.table(exact=args.format == "csv"), record)


def _measure(args: argparse.Namespace, dataset: Dataset) -> dict[str, Any]:
    """Returns the measure by name; by default the dataset's main one."""
    from irtoolkit.scoring.evaluation import parse_measures

    requested = measures_of(args)
    measures = parse_measures([dataset.protocol.main] if requested is None else requested)
    if len(measures) != 1:
        raise InputError(
            f"compare takes one measure, not {len(measures)}",
            remedy=f"name one: -m {next(iter(measures))}",
        )
    return measures


def _check_levels(args: argparse.Namespace) -> None:
    """Checks --alpha and --max-p, before anything is scored.

    Raises:
        InputError: one is out of range, both are given, or --max-p goes with no ranx.
    """

    alpha, max_p = args.alpha, args.max_p
    if max_p is not None and args.engine != "ranx":
        raise InputError("--max-p is ranx's", remedy="add --engine ranx, or write --alpha")
    if alpha is not None and max_p is not None:
        raise InputError(
            "--alpha and --max-p are both given",
            remedy="leave out one of them: with --engine ranx they are the same",
        )
    if alpha is not None and not 0 < alpha < 1:
        raise InputError(f"--alpha {alpha:g} is not between 0 and 1", remedy="0.05 is usual")
    if max_p is not None and not 0 <= max_p <= 1:
        raise InputError(f"--max-p {max_p} is not a probability", remedy="0.05 is usual")


def _by_ranx(args: argparse.Namespace, dataset: Dataset, paths: list[str]) -> None:
    """Prints ranx's report."""
    from irtoolkit.integrations.ranx import compare_with_ranx, ranx_name
    from irtoolkit.integrations.ranx_objects import slow_at_first
    from irtoolkit.scoring.score import score

    if args.format == "csv":
        raise InputError("ranx has no report as CSV", remedy="use --format json")
    if args.measures is None:
        raise InputError("ranx's report has no usual measure", remedy="name one, as -m ndcg@10")
    measures = [ranx_name(name) for name in " ".join(args.measures).split()]
    # Any measure: what it reads and notes of the runs is the same for all.
    scores = score(dataset, paths, "P@1", precision=args.precision)
    for line in scores.notes:
        note(str(line))
    slow = slow_at_first("get_hit_lists")
    if slow:
        note(slow)
    names = [Path(path).name for path in paths]
    labels = names if len(set(names)) == len(names) else paths
    max_p = 0.01 if args.max_p is None else args.max_p
    test: Any = args.test or "student"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, on ranx's code
        report = compare_with_ranx(
            scores.dataset.qrels,
            dict(zip(labels, scores.runs.values(), strict=True)),
            measures,
            test=test,
            correction=args.correction,
            max_p=max_p,
        )
    if args.format == "json":
        print_json(report.to_dict())
    elif args.format == "latex":
        print(report.to_latex())
    else:
        print(report)
        print(f"Letters: runs beaten at p <= {max_p} ({test}, {args.correction}).")

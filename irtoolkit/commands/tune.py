"""Choose a system's settings, or a fusion of runs, on a training or validation split.

Every combination of the values of --grid is evaluated; the best by the first measure is printed
first. Values are a list (k1=0.5,0.9,1.2) or a range (b=0.1:1.0:0.1). Rankings are exact over all
candidates, and no run is written. With -o the points are saved as they are found; to resume an
interrupted search, rerun the same command. RELiC's k1 = 0.5 and b = 0.9 were found by such a search
on relic/val (footnote 11). The figure of the best is too high, since it was chosen on the same
queries. The cross-validated figure beside it is not: for each fold of queries, the settings are chosen
that are best on the other queries. Where the queries are about several books, a fold is of whole books.

With --runs in place of a system, a fusion is tuned by cross-validation over queries: for each fold the
method, normalisation and weights are chosen that are best on the other queries, and the queries of
the fold are fused by that choice. So the run that -o writes is held out for every query, and its
figure is not too high. Where a dataset has folds of its own, as CSFCube has, these are used.
lambdamart trains trees on scores and ranks of all runs (pip install '.[ltr]'). --log keeps
all that is tried: an interrupted search resumes from it, and irtoolkit fuse --learned applies what is
best on all queries to other runs. --grid gives values of numbers: k=10,60, or trees=50,200.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.base.targets import check_ending
from irtoolkit.commands import (
    add_format,
    add_measures,
    add_output,
    add_settings,
    argument,
    measures_of,
    note,
    output_file,
    parse_pairs,
    print_json,
    shown,
)
from irtoolkit.commands._engines import add_engine
from irtoolkit.commands._tune_fusion import add_fusion, check_arguments, tune_fusions

if TYPE_CHECKING:
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.papers.tune import HeldOut
    from irtoolkit.scoring.folds import Fold

HELP = "search for a system's settings, or for a fusion of runs"
EXAMPLES = (
    "irtoolkit tune relic/sample/val bm25 --grid k1=0.5,0.9,1.5 b=0.4:0.9:0.25 --measures R@10",
    "irtoolkit tune quoter/sample/en/val crm --grid pooling=max,mean,square -o crm.json",
    "irtoolkit tune csfcube/sample --runs runs/bm25.run runs/tfidf.run -o tuned.run",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "a dataset with judgments")
    add("[SYSTEM]", "what is tuned, unless it is a fusion of --runs")
    add("--grid KEY=VALUES...", "settings with their values")
    add(
        "--folds K",
        "of queries that are held out, or of whole books; default: the dataset's own, otherwise 5",
        type=int,
    )
    add("--seed N", "of the folds, and of training; default: 0", least=0)
    add_fusion(parser)
    add_measures(parser)
    add("--depth, --hits N", "rows per query; default: 1000; of fused runs: all", least=1)
    add_output(
        parser,
        "keep the points here, as JSON; with --runs: the held-out run",
        required=False,
        check=output_file,
    )
    add_settings(parser)
    add_format(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    check_arguments(args)
    if args.runs:
        tune_fusions(args)
        return
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.papers.tune import held_out, parse_grid, tune

    if args.output is not None:
        check_ending(args.output, "JSON", ".json")

    grid = parse_grid(parse_pairs(args.grid))
    dataset = Dataset.load(args.dataset)
    folds = _folds(dataset, args)
    points = tune(
        args.dataset,
        args.system,
        grid,
        fixed=parse_pairs(args.settings),
        measures=measures_of(args),
        depth=args.depth or 1000,
        log=args.output,
    )
    note(f"best: --set {shown(points[0].settings)}")
    if folds:
        _tell_held_out(held_out(dataset, points, folds))
    if args.format == "json":
        print_json([{"settings": p.settings, "figures": p.figures} for p in points])
        return
    headers = [*grid, *points[0].figures]
    rows: list[list[TableCell]] = [[*p.settings.values(), *p.figures.values()] for p in points]
    print(
        TextTable(headers, rows, f"{args.dataset}: {args.system}, best first").render(args.format)
    )


def _folds(dataset: Dataset, args: argparse.Namespace) -> tuple[Fold, ...]:
    """Returns the held-out folds; none by default if there are too few queries."""
    from irtoolkit.scoring.folds import FOLDS, folds_of

    few = not dataset.protocol.folds and len(dataset.qrels.query_ids) < FOLDS
    return () if few and args.folds is None else folds_of(dataset, args.folds, args.seed or 0)


def _tell_held_out(result: HeldOut) -> None:
    counts = Counter(map(shown, result.chosen))
    choices = ", ".join(f"{settings} ({count})" for settings, count in counts.most_common())
    note(f"held out in {len(result.chosen)} folds: {result.measure} {result.figure:.4f}")
    note(f"chosen on the other queries: {choices}")

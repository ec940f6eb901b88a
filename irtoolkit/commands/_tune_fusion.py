"""`irtoolkit tune DATASET --runs ...`: its arguments and its output."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial

from irtoolkit.base.errors import InputError
from irtoolkit.commands import (
    add_run_form,
    argument,
    json_file,
    measures_of,
    note,
    parse_pairs,
    print_json,
    size_of,
)


def add_fusion(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that go with --runs."""
    add = partial(argument, parser.add_argument_group("fusions, with --runs in place of SYSTEM"))
    add("--runs RUN...", "runs to fuse, two or more")
    add(
        "--log FILE",
        "keep all that is tried, and what is learned for fuse --learned, here, as JSON",
        type=json_file,
    )
    add(
        "--methods M...",
        "default: rrf weighted combsum combmnz rankproduct; also lambdamart, and with ranx"
        " its methods that are not trained",
    )
    add(
        "--normalise N...",
        "minmax, zscore, sum or none, and for methods of ranx max, rank or borda; default:"
        " minmax zscore sum",
    )
    add(
        "--step S",
        "between weights; default: 0.05 for two runs, 0.1 for three, 0.2 for more",
        type=float,
    )
    add("--inner K", "folds within the other queries, for lambdamart; default: 3", type=int)
    add(
        "--test",
        "of the single runs against the held-out run; default: student, or wilcoxon for a median",
        choices=("student", "fisher", "wilcoxon"),
    )
    add_run_form(parser)


FLAGS = ("log", "methods", "normalise", "step", "inner", "test")


def check_arguments(args: argparse.Namespace) -> None:
    """Raises InputError for arguments of the one kind of search with the other."""

    if not args.runs:
        for name, value in (("SYSTEM", args.system), ("--grid", args.grid)):
            if not value:
                raise InputError(
                    f"no {name} to tune", remedy="name a system and --grid, or runs with --runs"
                )
        for name in FLAGS:
            if getattr(args, name) not in (None, []):
                raise InputError(f"--{name} is for fusions", remedy="name runs with --runs")
        if args.output_format != "trec":
            raise InputError("--output-format is for fusions", remedy="name runs with --runs")
        return
    if args.system is not None:
        raise InputError(
            f"a system {args.system} and --runs", remedy="tune a system or a fusion of runs"
        )
    if args.settings:
        raise InputError("--set is for systems", remedy="give values of a fusion with --grid")


def tune_fusions(args: argparse.Namespace) -> None:
    """Tunes a fusion, and prints the tried configurations and the figures of the held-out run."""
    from irtoolkit.fusing.search import FusionSearch
    from irtoolkit.fusing.tuned import tune_files
    from irtoolkit.papers.tune import parse_grid

    names = ("methods", "normalise", "step", "folds", "inner", "seed", "depth")
    options = {name: getattr(args, name) for name in names if getattr(args, name) not in (None, [])}
    search = FusionSearch(**options, grid=parse_grid(parse_pairs(args.grid)))
    result = tune_files(
        args.dataset,
        args.runs,
        args.output,
        search,
        measure=measures_of(args),
        log=args.log,
        form=args.output_format,
    )
    for line in result.scores.notes:
        note(str(line))
    if args.output is not None:
        note(f"{args.output}: {size_of(result.run)}; held out in {len(result.chosen)} folds")
    if args.log is not None:
        note(f"{args.log}: apply it to other runs with irtoolkit fuse --learned {args.log}")
    compared = result.comparison(args.test)
    if args.format == "json":
        print_json(
            {
                "dataset": result.bench.dataset.id,
                "measure": result.bench.name,
                "tried": [asdict(entry) for entry in result.tried],
                "chosen": [asdict(entry) for entry in result.chosen],
                "learned": asdict(result.learned),
                "systems": [asdict(row) for row in compared],
            }
        )
        return
    if args.format == "csv":
        print(result.table(every=True).render("csv"))
        return
    print(result.table().render(args.format))
    print()
    print(compared.table().render(args.format))

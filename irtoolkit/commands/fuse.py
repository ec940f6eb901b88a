"""Fuse runs into one and write it, with a record of the files it was made from.

    rrf                     the sum of 1 / (k + rank), ranks from 1
    weighted                the weighted sum of normalised scores
    combsum                 the sum of normalised scores
    combmnz                 combsum times the number of runs with the document
    rankproduct             the inverse of the product of ranks, each at most
                            k + 1
    condorcet, w_condorcet  documents above all that they beat, which more runs,
                            or runs of more weight, rank lower

Scores are normalised within each query: minmax to 0..1, zscore to mean 0 and standard deviation 1,
sum to a least score of 0 and a sum of 1, or not at all (none). What a run does not list counts 0 for
it, or the rank k + 1. A z-score may be negative, and combmnz then lowers what several runs list; a
note says so. Queries and documents are those of any of the runs. A run that shares no query
with the others is refused, and a note says where runs have little in common.

With ranx installed, its methods are here too, by their names in ranx; ranx:NAME asks for ranx where
both have the name. By scores: sum mnz anz max min med, gmnz (gamma), wsum wmnz mixed (weights). By
ranks: rrf (k), isr log_isr bordafuse, logn_isr (sigma), rbc (phi), w_bordafuse (weights). Trained on the judgments of --train: bayesfuse mapfuse posfuse segfuse, probfuse
(n_segments), slidefuse (w).

--learned fuses by what irtoolkit tune has learned from runs of the same systems on other queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError
from irtoolkit.commands import add_output, add_run_form, argument, note, parse_pairs, shown, size_of

if TYPE_CHECKING:
    from irtoolkit.ranking.fusion_methods import Method
    from irtoolkit.runs import Run

HELP = "fuse runs into one"
EXAMPLES = (
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o rrf.run --depth 100",
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o sum.run.gz --method weighted --weights 0.3 0.7",
    "irtoolkit fuse runs/bm25.run runs/k1.run.gz -o mnz.run --method combmnz --normalise sum",
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o rbc.run --method rbc --set phi=0.8",
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o bayes.run --method bayesfuse --train csfcube/sample",
)

# Methods that multiply by the number of runs that list a document.
_MULTIPLIED = ("combmnz", "mnz", "gmnz", "wmnz")


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("RUN...", "two runs or more", dest="runs")
    add_output(parser)
    add_run_form(parser)
    _add_method(parser)
    add("--depth, --hits N", "rows per query; default: all", least=1)
    add(
        "--learned FILE",
        "the log of irtoolkit tune --runs: method and settings are those it has learned",
    )
    add("--tag T", "run tag; default: the method's name")


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Adds --method and its parameters, whose defaults are the method's own."""
    add = partial(argument, parser)
    add(
        "--method M",
        "rrf, weighted, combsum, combmnz, rankproduct, condorcet, w_condorcet or a method of ranx;"
        " default: rrf",
    )
    add("--k K", "of rrf, default: 60; of rankproduct, default: 100", type=float)
    add("--weights W...", "of weighted and w_condorcet: one for each run", type=float)
    add(
        "--normalise N",
        "minmax, zscore, sum or none, and with ranx max, rank or borda; default: minmax",
    )
    add(
        "--set KEY=VALUE...", "other settings of a method of ranx, such as phi=0.8", dest="settings"
    )
    add("--train DATASET", "judgments that a method of ranx is trained on")
    add(
        "--train-runs RUN...",
        "runs to train on, in the order of RUN; default: those that are fused",
    )


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.fusing.log import learned_fusion
    from irtoolkit.integrations.ranx_fusion import RanxMethod, fusion_method
    from irtoolkit.ranking.fusion_files import fuse_files

    settings = _settings(args)
    if args.learned is not None and (args.method is not None or settings):
        raise InputError(
            "--learned has a method and its settings", remedy="leave out --method and settings"
        )
    learned = None if args.learned is None else learned_fusion(args.learned)
    method: Method = (
        fusion_method(args.method or "rrf", settings) if learned is None else learned.method
    )
    name = method.tag
    _warn(name, method, settings)
    read: list[Run] = []

    def check(runs: Sequence[Run]) -> None:
        read.extend(runs)
        if learned is not None:
            learned.check(runs)

    run = fuse_files(
        args.runs,
        args.output,
        method,
        depth=args.depth,
        tag=args.tag,
        form=args.output_format,
        report=lambda line: note(f"note: {line}"),
        check=check,
    )
    for line in () if learned is None else learned.notes(read, run):
        note(f"note: {line}")
    if isinstance(method, RanxMethod) and (count := method.seen(run.query_ids.tolist())):
        note(
            f"note: {name} is trained on the judgments of {count} of the"
            f" {len(run.query_ids)} fused queries, so figures on these are too high; train on others"
            " with --train and --train-runs"
        )
    used = {key: value for key, value in method.settings().items() if key != "method"}
    note(f"{args.output}: {size_of(run)}; {name} {shown(used)}".rstrip())


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the settings of the method, from flags of their own and from --set."""
    names = ("k", "weights", "normalise", "train", "train_runs")
    flags = {name: getattr(args, name) for name in names}
    settings = {name: value for name, value in flags.items() if value not in (None, [])}
    others = parse_pairs(args.settings)
    twice = next((name for name in others if name in settings), None)
    if twice is not None:
        raise InputError(f"setting {twice} is given twice")
    return {**settings, **others}


def _warn(name: str, method: Method, settings: dict[str, Any]) -> None:
    """Notes what is unexpected about a method, before it fuses."""
    from irtoolkit.integrations.ranx_fusion import RanxMethod
    from irtoolkit.integrations.ranx_objects import slow_at_first

    if name in _MULTIPLIED and settings.get("normalise") == "zscore":
        note(
            f"note: z-scores below the mean are negative, and {name} multiplies them by the number of"
            " runs too: what several runs list falls below what one lists; minmax and sum have none"
        )
    if isinstance(method, RanxMethod) and (slow := slow_at_first(method.module)):
        note(slow)

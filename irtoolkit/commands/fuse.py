"""Fuse runs into one and write it, with a record of the files it was made from.

rrf: the sum of 1 / (k + rank), ranks from 1. weighted: the weighted sum of normalised scores.
combsum and combmnz: the sum of normalised scores; the latter times the number of runs that list
the document. rankproduct: the inverse of the product of ranks, of which those beyond k count k + 1.
condorcet: documents in an order in which none is below one that it beats, and a document beats
another if more runs rank it higher; w_condorcet: the same with weights of the runs.
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
from irtoolkit.commands import add_output, add_run_form, note, parse_pairs, shown, size_of
from irtoolkit.commands._arguments import argument

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
    add("RUN...", dest="runs")
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
    from irtoolkit.integrations.ranx_fusion import RanxMethod, fusion_method
    from irtoolkit.integrations.ranx_objects import slow_at_first
    from irtoolkit.ranking.fusion_files import fuse_files

    options = {
        "k": args.k,
        "weights": args.weights,
        "normalise": args.normalise,
        "train": args.train,
        "train_runs": args.train_runs,
    }
    settings = {key: value for key, value in options.items() if value not in (None, [])}
    for key, value in parse_pairs(args.settings).items():
        if key in settings:
            raise InputError(f"setting {key} is given twice")
        settings[key] = value
    if args.learned is not None:
        _fuse_learned(args, settings)
        return
    name = args.method or "rrf"
    method = fusion_method(name, settings)
    if name.rpartition(":")[2] in _MULTIPLIED and settings.get("normalise") == "zscore":
        note(
            f"note: z-scores below the mean are negative, and {name} multiplies them by the number of"
            " runs too: what several runs list falls below what one lists; minmax and sum have none"
        )
    if isinstance(method, RanxMethod) and (slow := slow_at_first(method.module)):
        note(slow)
    run = fuse_files(
        args.runs,
        args.output,
        method,
        depth=args.depth,
        tag=args.tag,
        form=args.output_format,
        report=lambda line: note(f"note: {line}"),
    )
    if isinstance(method, RanxMethod) and (count := method.seen(run.query_ids.tolist())):
        note(
            f"note: {name} is trained on the judgments of {count} of the"
            f" {len(run.query_ids)} fused queries, so figures on these are too high; train on others"
            " with --train and --train-runs"
        )
    _say(args.output, run, name, method)


def _fuse_learned(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Fuses by a fusion that a search has learned."""
    from irtoolkit.fusing.log import learned_fusion
    from irtoolkit.ranking.fusion_files import fuse_files

    if args.method is not None or settings:
        raise InputError(
            "--learned has a method and its settings", remedy="leave out --method and settings"
        )
    learned = learned_fusion(args.learned)
    read: list[Run] = []

    def check(runs: Sequence[Run]) -> None:
        learned.check(runs)
        read.extend(runs)

    run = fuse_files(
        args.runs,
        args.output,
        learned.method,
        depth=args.depth,
        tag=args.tag,
        form=args.output_format,
        report=lambda line: note(f"note: {line}"),
        check=check,
    )
    for line in learned.notes(read, run):
        note(f"note: {line}")
    _say(args.output, run, learned.method.name, learned.method)


def _say(output: str, run: Run, name: str, method: Method) -> None:
    settings = {key: value for key, value in method.settings().items() if key != "method"}
    note(f"{output}: {size_of(run)}; {name} {shown(settings)}".rstrip())

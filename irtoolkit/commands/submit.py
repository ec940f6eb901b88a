"""Write a run in the form that a leaderboard, an official scorer or TREC takes.

relic: a JSON file with the first sentences of each quote's 100 best candidates in the test split.
Every quote must be in the run with 100 candidates, or with all of them where its book has fewer.

csfcube: a folder of ranked pools, a JSON file for each facet, with the names that the release's
scorer expects. Every query must be in the run with its whole pool. Given ranked pools (.json)
instead of a run, the command writes them as a run.

trec, also for all other datasets: TREC text that passes `irtoolkit check --strictness trec`.
--metadata header adds the record of how the run was made in comment lines at the top (ir_metadata).
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text, check_writable
from irtoolkit.base.paths import shown
from irtoolkit.base.plurals import number_of
from irtoolkit.base.targets import check_ending
from irtoolkit.commands import argument, note, output_place, size_of

HELP = "write a run in the form of a leaderboard"
EXAMPLES = (
    "irtoolkit submit relic/sample relic-test.run -o relic-test.json",
    "irtoolkit submit csfcube/sample runs/bm25.run -o pools",
    "irtoolkit submit csfcube/sample pools/*.json -o again.run",
    "irtoolkit submit csfcube/sample runs/bm25.run -o sent.run.gz --form trec --metadata header",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "the dataset that the run is for")
    add("RUN...", "a run, or ranked pools of CSFCube (.json)", dest="runs")
    add("-o, --output FILE", "a file, or a folder for csfcube", required=True, type=output_place)
    add(
        "--form",
        "form of the file; default: the dataset's own, or trec",
        choices=("relic", "csfcube", "trec"),
    )
    add("--tag T", "run tag; default: the run's own")
    add(
        "--metadata",
        "where to write the ir_metadata record (trec)",
        choices=("none", "beside", "header"),
        default="none",
    )
    add("--about FILE", "YAML file with parts of the record: actor, research goal, ...")


def execute(args: argparse.Namespace) -> None:
    form = args.form or _form(args.dataset)
    pools = [str(path).endswith(".json") for path in args.runs]
    check_writable(args.output, folder=form == "csfcube" and not all(pools))
    if form == "relic":
        check_ending(args.output, "JSON", ".json")
    if form != "trec" and (args.metadata != "none" or args.about):
        raise InputError(f"the form {form} has no room for metadata", remedy="use --form trec")
    if len(args.runs) > 1 and not all(pools):
        raise InputError(f"{len(args.runs)} runs", remedy="submit one at a time")
    if form == "csfcube" and all(pools):
        _from_pools(args)
        return
    {"csfcube": _to_pools, "relic": _relic, "trec": _trec}[form](args)


def _form(dataset: str) -> str:
    from irtoolkit.datasets.identity import DatasetId

    name = DatasetId.parse(dataset).benchmark
    return name if name in ("relic", "csfcube") else "trec"


def _relic(args: argparse.Namespace) -> None:
    import json

    from irtoolkit.scoring.submit import relic_answers

    dataset = args.dataset if args.dataset.endswith("/test") else f"{args.dataset}/test"
    answers = relic_answers(dataset, args.runs[0])
    with atomic_text(args.output) as out:
        json.dump(answers, out)
        out.write("\n")
    note(f"{args.output}: {number_of(len(answers), 'quotes')}")


def _to_pools(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.ranked_pools import write_ranked_pools

    for path in write_ranked_pools(args.dataset, args.runs[0], args.output, args.tag):
        note(shown(path))


def _from_pools(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.ranked_pools import read_ranked_pools

    run = read_ranked_pools(args.dataset, args.runs, args.tag)
    run.write(args.output)
    note(f"{args.output}: {size_of(run)}")


def _trec(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.submit import submit_trec

    run = submit_trec(
        args.dataset,
        args.runs[0],
        args.output,
        tag=args.tag,
        metadata=args.metadata,
        about=args.about,
    )
    note(f"{args.output}: {size_of(run)}")

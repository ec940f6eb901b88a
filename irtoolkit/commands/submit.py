"""Write a run in the form that a leaderboard, an official scorer or TREC takes.

relic: JSON with each quote id of the test split and the first sentences of its 100 best
candidates, best first. Every quote must be there, with 100 candidates or, where the book has fewer
of that length, with all of them. csfcube: a folder of ranked pools, one JSON file a facet, under the
names that the release's scorer looks for; every query must be there with its whole pool. Given
ranked pools (.json) instead of a run, it writes the run that they are. trec, which is also the form
for any other dataset: TREC text that passes check --strictness trec; --metadata header puts the
record of how it was made at its top, in comment lines as ir_metadata has them.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note

HELP = "write a run in a leaderboard's own form"
EXAMPLES = (
    "irtoolkit submit relic/sample relic-test.run -o relic-test.json",
    "irtoolkit submit csfcube/sample runs/bm25.run -o pools",
    "irtoolkit submit csfcube/sample pools/*.json -o again.run",
    "irtoolkit submit csfcube/sample runs/bm25.run -o sent.run.gz --form trec --metadata header",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="or CSFCube's ranked pools, .json")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="or folder")
    parser.add_argument(
        "--form", choices=("relic", "csfcube", "trec"), help="default: the dataset's own, or trec"
    )
    parser.add_argument("--tag", metavar="T", help="in place of the run's own")
    parser.add_argument(
        "--metadata", choices=("none", "beside", "header"), default="none",
        help="of trec: where the ir_metadata record goes; default: none",
    )  # fmt: skip
    parser.add_argument(
        "--about", metavar="FILE", help="YAML with parts of the record: actor, research goal, ..."
    )


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.errors import InputError

    form = args.form or _form(args.dataset)
    if form != "trec" and (args.metadata != "none" or args.about):
        raise InputError(f"the form {form} holds no metadata", remedy="use --form trec")
    pools = [str(path).endswith(".json") for path in args.runs]
    if len(args.runs) > 1 and not all(pools):
        raise InputError(f"{len(args.runs)} runs", remedy="submit one at a time")
    if form == "csfcube":
        (_from_pools if all(pools) else _to_pools)(args)
    elif form == "relic":
        _relic(args)
    else:
        _trec(args)


def _form(dataset: str) -> str:
    from irtoolkit.datasets.identity import DatasetId

    name = DatasetId.parse(dataset).benchmark
    return name if name in ("relic", "csfcube") else "trec"


def _relic(args: argparse.Namespace) -> None:
    import json

    from irtoolkit.base.files import atomic_text
    from irtoolkit.scoring.submit import relic

    dataset = args.dataset if args.dataset.endswith("/test") else f"{args.dataset}/test"
    answers = relic(dataset, args.runs[0])
    with atomic_text(args.output) as out:
        json.dump(answers, out)
        out.write("\n")
    note(f"{args.output}: {len(answers)} quotes")


def _to_pools(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.submit import write_ranked_pools

    for path in write_ranked_pools(args.dataset, args.runs[0], args.output, args.tag):
        note(str(path))


def _from_pools(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.submit import read_ranked_pools

    run = read_ranked_pools(args.dataset, args.runs, args.tag)
    run.write(args.output)
    note(f"{args.output}: {len(run.query_ids)} queries, {len(run)} rows")


def _trec(args: argparse.Namespace) -> None:
    from irtoolkit.scoring.submit import write_trec

    run = write_trec(
        args.dataset, args.runs[0], args.output, tag=args.tag, metadata=args.metadata, about=args.about
    )  # fmt: skip
    note(f"{args.output}: {len(run.query_ids)} queries, {len(run)} rows")

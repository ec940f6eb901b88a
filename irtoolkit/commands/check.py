"""Check a run file as a TREC track does, and more.

Six fields, one tag, finite scores, no document twice, ranks that agree with scores; with
--dataset also known topics and documents, pools, and no topic missing. Every problem is printed
with its line; the exit status is 2 when there is one. Ties whose ranks are not in trec_eval's
order are only noted, unless --strictness trec makes them a problem: it also wants a tag of 1 to 20
letters, digits, - _ . and Q0, ranks without gaps, and no more than 1000 rows for a query.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note

# How many are shown: old runs may have one for every query.
NOTES = 3

HELP = "check a run file"
EXAMPLES = (
    "irtoolkit check runs/bm25.run",
    "irtoolkit check runs/bm25.run --dataset csfcube/sample --depth 1000",
    "irtoolkit check runs/bm25.run --dataset csfcube/sample --whole-pool --strictness trec",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--dataset", metavar="DATASET")
    parser.add_argument("--depth", type=int, metavar="N", help="the most rows a query may have")
    parser.add_argument(
        "--whole-pool", action="store_true", help="every candidate of a query must be there"
    )
    parser.add_argument(
        "--strictness", choices=("usual", "trec"), default="usual", help="default: usual"
    )


def execute(args: argparse.Namespace) -> int:
    import sys

    from irtoolkit.scoring.check import inspect_run

    found = inspect_run(
        args.run, args.dataset, args.depth, whole_pool=args.whole_pool, strictness=args.strictness
    )
    for remark in found.notes[:NOTES]:
        note(f"note: {remark}")
    if len(found.notes) > NOTES:
        note(f"note: {len(found.notes) - NOTES} more queries with such ties")
    for problem in found.problems:
        print(problem, file=sys.stderr)
    if found.problems:
        count = len(found.problems)
        print(f"irtoolkit: {args.run}: {count} problem{'s' * (count > 1)}", file=sys.stderr)
        return 2
    print(f"{args.run}: {found.topics} topics, {found.rows} rows, no problems")
    return 0

"""Check a run file as a TREC track does, and more.

Six fields, one tag, finite scores, no document twice, ranks that agree with scores; with
--dataset also known topics and documents, pools, and no topic missing. Every problem is printed
with its line; the exit status is 2 when there is one.
"""

from __future__ import annotations

import argparse

HELP = "check a run file"
EXAMPLES = (
    "irtoolkit check runs/bm25.run",
    "irtoolkit check runs/bm25.run --dataset csfcube/sample --depth 1000",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--dataset", metavar="DATASET")
    parser.add_argument("--depth", type=int, metavar="N", help="the most rows a query may have")


def execute(args: argparse.Namespace) -> int:
    import sys

    from irtoolkit.checking import check_run
    from irtoolkit.runs import Run

    problems = check_run(args.run, args.dataset, args.depth)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(
            f"irtoolkit: {args.run}: {len(problems)} problem{'s' * (len(problems) > 1)}",
            file=sys.stderr,
        )
        return 2
    run = Run.read(args.run)
    print(f"{args.run}: {len(run.query_ids)} topics, {len(run)} rows, no problems")
    return 0

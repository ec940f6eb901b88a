"""Check a run file as TREC tracks do, and more strictly.

Each line must have six fields, with one tag, a finite score, no document twice in a query, and
ranks that agree with the scores. With --dataset, topics and documents must be known, documents must
be in the pool of their query, and no topic may be missing. Problems are printed with their lines,
the first three of each kind unless --all is given; the exit status is 2 when there are any.

Ties whose ranks are not in trec_eval's order are only noted, and so are ids that trec_eval reads as
they are and other tools split, such as at a no-break space. --strictness trec makes both a problem;
it also requires a tag of 1 to 20 letters, digits, - _ . and Q0 in the second field, ranks without
gaps, and at most 1000 rows for a query.
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.paths import shown
from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note

# Problems of each kind that are printed: an old run may have one for every query.
SHOWN = 3

HELP = "check a run file"
EXAMPLES = (
    "irtoolkit check runs/bm25.run",
    "irtoolkit check runs/bm25.run --dataset csfcube/sample --depth 1000",
    "irtoolkit check runs/bm25.run --dataset csfcube/sample --whole-pool --strictness trec",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("RUN", "a run file")
    add("--dataset DATASET", "the dataset that the run is for")
    add("--depth N", "the most rows of a query", least=1)
    add("--whole-pool", "each query must rank all of its candidates")
    add("--strictness", "which rules apply", choices=("usual", "trec"), default="usual")
    add("--all", "print every problem, not the first three of each kind")


def execute(args: argparse.Namespace) -> int:
    import sys

    from irtoolkit.scoring.check import check_run, grouped

    inspection = check_run(
        args.run, args.dataset, args.depth, whole_pool=args.whole_pool, strictness=args.strictness
    )
    most = sys.maxsize if args.all else SHOWN
    for line in grouped(inspection.notes, most):
        note(f"note: {line}")
    for line in (
        [str(p) for p in inspection.problems] if args.all else grouped(inspection.problems, most)
    ):
        note(line)
    if inspection.problems:
        problems = number_of(len(inspection.problems), "problems", ",")
        note(f"irtoolkit: {args.run}: {problems}")
        return 2
    topics, rows = number_of(inspection.topics, "topics"), number_of(inspection.rows, "rows")
    print(f"{shown(args.run)}: {topics}, {rows}, no problems")
    return 0

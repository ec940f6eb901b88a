"""Pick the candidates of an N-way task: each query's gold document and N - 1 others.

DATASET is relic/{split}/proxy (3 candidates: RELiC's proxy task), plotretrieval/{split}/20-way
(PlotRetrieval's human study), or any of irtoolkit's dataset ids followed by /N-way. With RUN, a run
of the dataset that DATASET is derived from, the others are the run's highest documents that are not
relevant. Without RUN they are drawn at random from the query's candidates. The candidates are
saved, and every command and later session then knows DATASET. Its measure, Success@1, is the
accuracy. Views, such as relic/val/1-1/proxy, have the candidates of relic/val/proxy. A word at the
end of DATASET, as in relic/val/proxy-errors, tells tasks with other candidates apart.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note

HELP = "pick the gold document and negatives for an N-way task"
EXAMPLES = (
    "irtoolkit nway relic/sample/val/proxy relic-val.run",
    "irtoolkit nway relic/sample/val/proxy-errors relic-val.run --below 50",
    "irtoolkit nway plotretrieval/sample/val/20-way --seed 1 --queries 20",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET", "the task, by the name it gets")
    add("[RUN]", "run to take the others from; default: random ones")
    add(
        "--only BREAKDOWN=PART",
        "keep the queries of one part, such as book=emma",
        action="append",
        default=[],
    )
    add("--below RANK", "keep the queries whose gold document is below this rank in RUN", least=1)
    add("--queries N", "draw N of the queries; default: all queries", least=1)
    add("--seed N", "of every draw", least=0, default=0)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.stamps import unchanged
    from irtoolkit.building.nway import (
        hardest_candidates,
        queries_of,
        random_candidates,
        sample_queries,
    )
    from irtoolkit.datasets.nway import write_nway

    record: dict[str, Any]
    if args.run is not None:
        with unchanged([args.run]):
            picked = hardest_candidates(args.dataset, args.run, args.below)
            record = {"run": sha256(args.run), "below": args.below}
    elif args.below is None:
        picked, record = random_candidates(args.dataset, args.seed), {"seed": args.seed}
    else:
        raise InputError("--below without RUN", remedy="give the run that ranks the gold documents")
    for only in args.only:
        picked = queries_of(picked, args.dataset, only)
    record["only"] = args.only
    if args.queries is not None:
        picked = sample_queries(picked, args.queries, args.seed)
        record |= {"queries": args.queries, "seed": args.seed}
    path = write_nway(args.dataset, picked, record)
    note(f"{args.dataset}: candidates of {number_of(len(picked), 'queries')} saved in {path}")

"""Pick the candidates of a choice: the gold of each query and a few others.

DATASET is relic/{split}/proxy (3 candidates: RELiC's proxy task), plotretrieval/{split}/20-way
(PlotRetrieval's human study), or any of our ids followed by /N-way. With RUN, a run of the dataset
it is derived from, the others are the run's highest documents that are not gold; without, they are
drawn at random from the query's candidates. From then on DATASET is known to every command, here
and in later sessions; its measure, Success@1, is the accuracy.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note

HELP = "pick gold and negatives for an N-way task"
EXAMPLES = (
    "irtoolkit choices relic/sample/val/proxy relic-val.run",
    "irtoolkit choices plotretrieval/sample/val/20-way --seed 1 --queries 20",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("run", nargs="?", metavar="RUN", help="default: draw at random")
    parser.add_argument("--queries", type=int, metavar="N", help="draw so many; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn; default: 0")


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.files import sha256
    from irtoolkit.building import nway as picking
    from irtoolkit.datasets import nway as choices

    if args.run is None:
        picked, how = picking.random_candidates(args.dataset, args.seed), {"seed": args.seed}
    else:
        picked, how = picking.hardest_candidates(args.dataset, args.run), {"run": sha256(args.run)}
    if args.queries is not None:
        picked = picking.sample_queries(picked, args.queries, args.seed)
        how |= {"queries": args.queries, "seed": args.seed}
    path = choices.write_nway(args.dataset, picked, how)
    note(f"{args.dataset}: {len(picked)} queries, kept in {path}")

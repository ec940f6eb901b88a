"""Rank the best documents of a run again, with a slower and better system.

SYSTEM is a cross-encoder by preset, folder or hub id; or any retriever (late, dense, sparse, ...) or
system of a paper, as `irtoolkit retrieve` takes it. Documents beyond the depth are left out, unless
they are kept, in their order, below those that are ranked again.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import add_settings, note, parse_pairs, written

HELP = "rank the best documents of a run again"
EXAMPLES = (
    "irtoolkit rerank csfcube bm25.run cross-encoder/ms-marco-MiniLM-L6-v2 -o ce.run",
    "irtoolkit rerank relic/val bm25.run late -o late.run --depth 1000 --set model=ColBERTv2",
    "irtoolkit rerank csfcube/sample runs/bm25.run ql -o ql.run --depth 10 --rest keep",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("run", metavar="RUN", help="TREC text or Parquet")
    parser.add_argument("system", metavar="SYSTEM")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument(
        "--depth", type=int, default=100, metavar="N", help="documents ranked again; default: 100"
    )
    parser.add_argument(
        "--rest", choices=("drop", "keep"), default="drop",
        help="what becomes of documents below the depth; default: drop",
    )  # fmt: skip
    add_settings(parser)


def execute(args: argparse.Namespace) -> None:
    from dataclasses import replace

    from irtoolkit.ranking.produce import Among, is_helper, produce
    from irtoolkit.ranking.systems import find_reranker

    system = find_reranker(args.system, parse_pairs(args.settings), args.dataset)
    system = replace(system, depth=args.depth)
    keep = args.rest == "keep"
    among = Among.read(args.run, keep_rest=keep)
    run, _ = produce(args.dataset, system, args.output, among=among)
    if is_helper():
        return
    note(written(args.output, run, system))

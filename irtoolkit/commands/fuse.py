"""Fuse runs into one and write it, with a record of the files it was made from.

rrf: the sum of 1 / (k + rank), ranks from 1. weighted: the weighted sum of normalised scores.
combsum and combmnz: the sum of normalised scores; the latter times the number of runs that list
the document. Scores are normalised within each query: minmax to 0..1, zscore to mean 0 and standard
deviation 1, sum to a least score of 0 and a sum of 1, or not at all (none). What a run does not list
counts 0 for it. Queries and documents are those of any of the runs.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import note, shown

HELP = "fuse runs into one"
EXAMPLES = (
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o rrf.run --depth 100",
    "irtoolkit fuse runs/bm25.run runs/tfidf.run -o sum.run.gz --method weighted --weights 0.3 0.7",
    "irtoolkit fuse runs/bm25.run runs/k1.run.gz -o mnz.run --method combmnz --normalise zscore",
)


def configure(parser: argparse.ArgumentParser) -> None:
    # Each parameter's default is its method's own.
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="TREC text, .gz or .parquet, by its name",
    )
    parser.add_argument(
        "--method", default="rrf", metavar="M", help="rrf, weighted, combsum or combmnz; default: rrf"
    )  # fmt: skip
    parser.add_argument("--k", type=float, metavar="K", help="of rrf; default: 60")
    parser.add_argument(
        "--weights", type=float, nargs="+", metavar="W", help="of weighted: one for each run"
    )
    parser.add_argument(
        "--normalise", metavar="N", help="minmax, zscore, sum or none; default: minmax"
    )
    parser.add_argument("--depth", type=int, metavar="N", help="rows per query; default: all")
    parser.add_argument("--tag", metavar="T", help="run tag; default: the method's name")


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.ranking.fusion import fuse_files
    from irtoolkit.ranking.fusion_methods import method_named

    given = {"k": args.k, "weights": args.weights, "normalise": args.normalise}
    settings = {key: value for key, value in given.items() if value is not None}
    method = method_named(args.method, settings)
    run = fuse_files(args.runs, args.output, method, depth=args.depth, tag=args.tag)
    note(
        f"{args.output}: {len(run.query_ids)} queries, {len(run)} rows; {args.method}"
        f" {shown(method.settings())}"
    )

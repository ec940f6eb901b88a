"""Score runs on a dataset's judgments.

DATASET is one of ours, any ir_datasets id, or a TREC qrels file. Without --measures the dataset's
own measures are used, and figures are averaged as its protocol says (for CSFCube, the mean of the
means of its two test folds). As in trec_eval, only judged queries count, a judged query missing
from the run counts as zero, and documents are ordered by score, then by id descending.

With --by, each part of the queries has a row of its own, without folds: csfcube has parts by
facet, relic by book and length, quoter by frequency, plotretrieval by book.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from irtoolkit.commands import add_format, add_measures, note, print_json

if TYPE_CHECKING:
    from irtoolkit.scoring.score import Scores

HELP = "score runs"
EXAMPLES = (
    "irtoolkit eval csfcube/sample runs/bm25.run",
    'irtoolkit eval csfcube/sample/method runs/bm25.run --measures "nDCGp(p=20)" "AP(rel=2)"',
    "irtoolkit eval csfcube/sample runs/*.run --format json --per-query per-query.tsv",
    "irtoolkit eval csfcube/sample runs/bm25.run --by facet",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("runs", nargs="+", metavar="RUN")
    add_measures(parser)
    parser.add_argument(
        "--per-query", metavar="FILE", help="write run, query, measure, value lines to FILE"
    )
    parser.add_argument("--by", metavar="NAME", help="break the figures down, e.g. by facet")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.commands import measures_of
    from irtoolkit.scoring.score import score

    scores = score(args.dataset, args.runs, measures_of(args))
    if args.per_query:
        _write_per_query(scores, args.per_query)
    for line in scores.notes:
        note(str(line))
    if args.format == "json":
        print_json(scores.figures() if args.by is None else scores.by(args.by))
        return
    print(scores.table(args.by).render(args.format))


def _write_per_query(scores: Scores, path: str) -> None:
    from irtoolkit.base.files import atomic_text

    with atomic_text(path) as out:
        out.write("run\tquery_id\tmeasure\tvalue\n")
        for name, query_id, measure, value in scores.per_query():
            out.write(f"{name}\t{query_id}\t{measure}\t{value!r}\n")

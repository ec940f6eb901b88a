"""Score runs on a dataset's judgments.

DATASET is one of ours, any ir_datasets id, or a TREC qrels file; --qrels gives other judgments for
it. Measures have the names of ir_measures, trec_eval or ranx, in any capitals. Without any the dataset's own are used.
Figures are averaged as its protocol says (for CSFCube, the mean of the means of its two test folds).
As in trec_eval, only judged queries count, a judged query missing from the run counts as zero (unless its
exact ranks are beside the run), and equal scores are ordered as there; --precision double compares scores
as trec_eval 10 does, and not as 9.

With -q, the values of each query and the figures are printed as trec_eval -q prints them. With --by,
each part of the queries has a row of its own, without folds: csfcube has parts by facet, relic by
book and length, quoter by frequency, plotretrieval by book.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.commands import add_format, add_measures, argument, note, print_table, tsv_file
from irtoolkit.commands._datasets import add_judged, judged_dataset

if TYPE_CHECKING:
    from irtoolkit.scoring.score import Scores

HELP = "score runs"
EXAMPLES = (
    "irtoolkit eval csfcube/sample runs/bm25.run",
    'irtoolkit eval csfcube/sample/method runs/bm25.run --measures "nDCGp(p=20)" "AP(rel=2)"',
    "irtoolkit eval csfcube/sample runs/*.run --format json --per-query per-query.tsv",
    "irtoolkit eval csfcube/sample runs/bm25.run --by facet",
    "irtoolkit eval -q -m map -m P.5,10 -m ndcg_cut.10 csfcube/sample runs/bm25.run",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add_judged(parser)
    add_measures(parser)
    add(
        "-q",
        "print the values of each query and the figures in trec_eval's form",
        dest="each_query",
    )
    add("--per-query FILE", "write run, query, measure, value lines to FILE", type=tsv_file)
    add("--by NAME", "break the figures down, e.g. by facet")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.commands import measures_of
    from irtoolkit.scoring.score import score
    from irtoolkit.scoring.trec_eval import trec_eval_lines

    if args.each_query and (args.by is not None or args.format != "text"):
        raise InputError("-q has a form of its own", remedy="leave --by and --format out")
    dataset, runs = judged_dataset(args)
    scores = score(dataset, runs, measures_of(args), precision=args.precision)
    if args.per_query:
        _write_per_query(scores, args.per_query)
    for line in scores.notes:
        note(str(line))
    if args.each_query:
        print("\n".join(trec_eval_lines(scores)))
        return
    record = scores.figures() if args.by is None else scores.by(args.by)
    print_table(args.format, scores.table(args.by), record)


def _write_per_query(scores: Scores, path: str) -> None:
    with atomic_text(path) as out:
        out.write("run\tquery_id\tmeasure\tvalue\n")
        for name, query_id, measure, value in scores.per_query():
            out.write(f"{name}\t{query_id}\t{measure}\t{value!r}\n")

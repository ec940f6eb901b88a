"""Score runs against a dataset's judgments.

Without --measures the benchmark's own measures are used; figures are averaged as its protocol
says (for CSFCube the mean of the means of its two test folds). DATASET is one of ours, any
ir_datasets id, or a TREC qrels file. As in trec_eval, only judged queries count, a judged query
missing from the run counts as zero, and documents are ordered by score, then by id descending.

With --by, each part of the queries has a row of its own, without folds: csfcube has parts by
facet, relic by book and length, quoter by frequency, plotretrieval by book.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from irtoolkit.commands import add_format, note, print_json

if TYPE_CHECKING:
    from irtoolkit.commands._scoring import Scored

HELP = "score runs"
EXAMPLES = (
    "irtoolkit eval csfcube/sample runs/bm25.run",
    'irtoolkit eval csfcube/sample/method runs/bm25.run --measures "nDCGp(p=20) AP(rel=2)"',
    "irtoolkit eval csfcube/sample runs/*.run --format json --per-query per-query.tsv",
    "irtoolkit eval csfcube/sample runs/bm25.run --by facet",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument(
        "--measures", metavar="M", help='ir_measures names, e.g. "nDCG@10 AP(rel=2)"'
    )
    parser.add_argument(
        "--per-query", metavar="FILE", help="write run, query, measure, value lines here"
    )
    parser.add_argument("--by", metavar="NAME", help="break the figures down, e.g. by facet")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.base.files import atomic_text
    from irtoolkit.base.tables import TableCell, TextTable
    from irtoolkit.commands._scoring import score_runs

    scored = score_runs(args.dataset, args.runs, args.measures)
    figures = {path: evaluation.figures() for path, evaluation in scored.evaluations.items()}
    if args.per_query:
        with atomic_text(args.per_query) as out:
            out.write("run\tquery_id\tmeasure\tvalue\n")
            for path, evaluation in scored.evaluations.items():
                for measure in evaluation.measures:
                    for query, value in zip(
                        evaluation.query_ids, evaluation.per_query(measure).tolist(), strict=True
                    ):
                        out.write(f"{path}\t{query}\t{measure}\t{value!r}\n")
    for line in scored.notes:
        note(line)
    if args.by is not None:
        _by_part(args, scored)
        return
    if args.format == "json":
        print_json(figures)
        return
    rows: list[list[TableCell]] = [[name, *row.values()] for name, row in figures.items()]
    print(
        TextTable(["run", *scored.measures], rows, f"{args.dataset}: {scored.averaging}").render(
            args.format
        )
    )


def _by_part(args: argparse.Namespace, scored: Scored) -> None:
    from irtoolkit.base.tables import TableCell, TextTable
    from irtoolkit.datasets.dataset import Dataset

    parts = Dataset.of(args.dataset).breakdown(args.by)
    figures = {
        path: {part: evaluation.over(queries) for part, queries in parts.items()}
        for path, evaluation in scored.evaluations.items()
    }
    if args.format == "json":
        print_json(figures)
        return
    rows: list[list[TableCell]] = [
        [path, part, len(parts[part]), *row.values()]
        for path, found in figures.items()
        for part, row in found.items()
    ]
    headers = ["run", args.by, "queries", *scored.measures]
    print(
        TextTable(headers, rows, f"{args.dataset}: mean over the queries of each part").render(
            args.format
        )
    )

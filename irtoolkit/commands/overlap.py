"""Measure how many words of the queries their relevant documents have.

The figure is that of PlotRetrieval's Table 2, for any dataset with judgments, such as
beir/scifact/test: the share of a query's distinct words, stop words left out, that a relevant
document has, in percent, averaged over the pairs of a query and a relevant document (Equation 5);
"by query" averages each query's pairs first. Words are NLTK's tokens without its English stop words,
as in the paper, so NLTK's data must be here; --words sklearn needs none. Where the paper has a
figure for a dataset, it is printed beside NLTK's.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TextTable
from irtoolkit.commands import add_format, argument, note, print_table

if TYPE_CHECKING:
    from irtoolkit.base.tables import TableCell
    from irtoolkit.scoring.query_overlap import QueryOverlap

HELP = "measure the words that queries share with their relevant documents"
EXAMPLES = (
    "irtoolkit overlap plotretrieval/sample/val egret/sample/dev --words sklearn",
    "irtoolkit overlap csfcube/sample --words sklearn --query facet_sentences --doc sentences --rel 2",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("DATASET...", "datasets with judgments", dest="datasets")
    add("--words", "whose tokens and stop words", choices=("nltk", "sklearn"), default="nltk")
    add("--fold-case", "take words in upper and lower case for the same")
    add("--rel REL", "lowest relevant grade", type=int, default=1)
    add("--query VIEW", "view of the queries; default: the dataset's own", default="default")
    add("--doc VIEW", "view of the documents; default: the dataset's own", default="default")
    add_format(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.datasets.dataset import Dataset
    from irtoolkit.datasets.word_overlap import word_sets
    from irtoolkit.scoring.query_overlap import query_overlap

    words = word_sets(args.words, fold_case=args.fold_case)
    overlaps: dict[str, QueryOverlap] = {}
    failed: list[InputError] = []
    for name in dict.fromkeys(args.datasets):
        try:
            data = Dataset.load(name)
            overlaps[name] = query_overlap(
                data, words, rel=args.rel, query=args.query, doc=args.doc
            )
        except InputError as error:  # the other datasets may have taken hours
            failed.append(error)
    if overlaps:
        _print(args, overlaps)
    for message in failed[:-1]:
        note(f"irtoolkit: {message}")
    if failed:
        raise failed[-1]


def _print(args: argparse.Namespace, overlaps: Mapping[str, QueryOverlap]) -> None:
    from dataclasses import asdict

    printed = _printed() if args.words == "nltk" else {}
    records = {
        name: {**asdict(overlap), "paper": printed.get(name)} for name, overlap in overlaps.items()
    }
    headers = ["dataset", "queries", "pairs", "overlap", "by query"]
    rows = [[name, *_cells(overlap)] for name, overlap in overlaps.items()]
    if printed.keys() & overlaps.keys():
        headers.append("paper")
        rows = [[*row, printed.get(str(row[0]))] for row in rows]
    print_table(args.format, TextTable(headers, rows, places=2), records)


def _cells(overlap: QueryOverlap) -> list[TableCell]:
    return [overlap.queries, overlap.pairs, 100 * overlap.by_pair, 100 * overlap.by_query]


def _printed() -> dict[str, float]:
    """Returns dataset to the figure of Table 2."""
    from irtoolkit.papers.catalogue import find_table

    rows = find_table("plotretrieval-overlap").rows
    return {
        row.command.split()[-1]: next(iter(row.reported.values()))[0]
        for row in rows
        if row.command is not None
    }

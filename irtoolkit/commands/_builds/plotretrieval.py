"""Build a benchmark in PlotRetrieval's form: readers' comments and the plot passages that they are about.

Comments are .jsonl files; a line has book and text, and may say where the comment belongs: sentences
([first, one past the last]) or marked (the text) of the passage, sentence (a number near it), or position
(the share of the book before it). In .txt and .md files, works of criticism, the sentence that leads up to
a quotation is the comment, and what is quoted is the passage.

Comments that are too short or long, are no description of a plot, or share their words with the book are
left out. The others are aligned with their books. Sure pairs are kept; check.tsv in the folder lists all
pairs for readers, who write yes, no or unsure under verdict, and may shorten the query to what is about the
plot. The same command with --checked makes the benchmark of the confirmed pairs. No two splits share a book.
"""

from __future__ import annotations

import argparse
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.commands import note
from irtoolkit.commands._builds._common import (
    add_books_of_splits,
    add_counts,
    add_output,
    add_replace,
    ids,
    tell,
)
from irtoolkit.commands._engines import add_engine
from irtoolkit.commands._parsing import between

HELP = "PlotRetrieval: comments of readers and the plots they are about"
EXAMPLES = (
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine",
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine --checked mine/check.tsv",
    "irtoolkit build plotretrieval --books novels/ --comments essays/ -o mine --align bm25",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--books", nargs="+", required=True, metavar="PATH", help="files or folders"
    )
    parser.add_argument(
        "--comments", nargs="+", required=True, metavar="PATH", help="files or folders"
    )
    add_output(parser)
    parser.add_argument(
        "--checked", metavar="FILE", help="sheet with verdicts: only confirmed pairs are taken"
    )
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        help="train what tells plots from other comments: lines of a text, a tab, and plot or not; or"
        " .jsonl with text and label; default: a rule",
    )
    parser.add_argument(
        "--align",
        choices=("dense", "bm25"),
        default="dense",
        help="how comments and sentences are compared; default: dense, by a model",
    )
    parser.add_argument(
        "--model",
        default="all-MiniLM-L6-v2",
        metavar="MODEL",
        help="bi-encoder: a preset, a folder or a hub id; default: all-MiniLM-L6-v2",
    )
    _add_bounds(parser)
    add_books_of_splits(parser)
    add_replace(parser)
    add_engine(parser)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    for name, default, description in (
        ("--keep", None, "least score of pairs that are kept; default: 0.5; with bm25, 0.3"),
        (
            "--ask",
            None,
            "least score of pairs that readers are asked for; default: 0.35; with bm25, 0.15",
        ),
        (
            "--overlap",
            0.5,
            "greatest share of a comment's words in its passage; default: 0.5, as in the paper",
        ),
    ):
        parser.add_argument(
            name, type=float, default=default, action=between(0, 1), metavar="S", help=description
        )
    add_counts(
        parser,
        least=(4, "least words of a comment"),
        most=(150, "most words of a comment"),
        near=(10, "sentences around the place that a comment names"),
        longest=(5, "most sentences of a passage that is looked for or quoted"),
    )
    parser.add_argument(
        "--context",
        default=1,
        action=between(1, 4),
        help="sentences before a quotation that are the comment, 1 to 4",
    )


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.plotretrieval.build import build_plotretrieval
    from irtoolkit.building.plotretrieval.quality import quality

    built = build_plotretrieval(
        args.books,
        args.comments,
        args.output,
        _recipe(args),
        checked=args.checked,
        replace=args.replace,
    )
    tell(built.notes(), built.continued, f"{built.pieces} pieces", quality(built))
    note(f"{len(built.pairs):,} pairs: {ids(args.output, built.splits)}")
    if args.checked is None:
        note(f"{len(built.candidates):,} pairs to check: {args.output}/check.tsv")


def _recipe(args: argparse.Namespace) -> Any:
    from dataclasses import replace

    from irtoolkit.building.plotretrieval.alignment import Reach
    from irtoolkit.building.plotretrieval.annotation import USUAL
    from irtoolkit.building.plotretrieval.build import Recipe
    from irtoolkit.building.plotretrieval.filters import Filter, Limits
    from irtoolkit.building.relic.quotations import Matching
    from irtoolkit.datasets.word_overlap import WordSource, missing_words
    from irtoolkit.retrievers.dense import Dense
    from irtoolkit.retrievers.lexical import BM25

    bounds = {
        name: getattr(args, name) for name in ("keep", "ask") if getattr(args, name) is not None
    }
    thresholds = replace(USUAL[args.align], **bounds)
    if thresholds.ask > thresholds.keep:
        raise InputError(
            f"--ask {thresholds.ask:g} is above --keep {thresholds.keep:g}",
            remedy="pairs from --ask to --keep are those that readers are asked for",
        )
    words: WordSource = "sklearn" if missing_words("nltk") else "nltk"
    limits = Limits(args.least, args.most, args.overlap, words)
    return Recipe(
        BM25() if args.align == "bm25" else Dense(model=args.model),
        thresholds,
        Filter(limits, Matching(longest=args.longest)),
        Reach(args.near, args.longest),
        args.context,
        args.labelled,
        tuple(args.val),
        tuple(args.test),
    )

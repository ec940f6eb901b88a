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
from functools import partial
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note
from irtoolkit.commands._builds._common import (
    add_books_of_splits,
    add_output,
    add_replace,
    ids,
    tell,
)
from irtoolkit.commands._engines import add_engine

HELP = "PlotRetrieval: comments of readers and the plots they are about"
EXAMPLES = (
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine",
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine --checked mine/check.tsv",
    "irtoolkit build plotretrieval --books novels/ --comments essays/ -o mine --align bm25",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("--books PATH...", "files or folders", required=True)
    add("--comments PATH...", "files or folders", required=True)
    add_output(parser)
    add("--checked FILE", "sheet with verdicts: only confirmed pairs are taken")
    add(
        "--labelled FILE",
        "train what tells plots from other comments: lines of a text, a tab, and plot or not; or"
        " .jsonl with text and label; default: a rule",
    )
    add(
        "--align",
        "how comments and sentences are compared; default: dense, by a model",
        choices=("dense", "bm25"),
        default="dense",
    )
    add("--model MODEL", "bi-encoder: a preset, a folder or a hub id", default="all-MiniLM-L6-v2")
    _add_bounds(parser)
    add_books_of_splits(parser)
    add_replace(parser)
    add_engine(parser)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser, type=float, least=0, most=1)
    add("--keep S", "least score of pairs that are kept; default: 0.5; with bm25, 0.3")
    add(
        "--ask S", "least score of pairs that readers are asked for; default: 0.35; with bm25, 0.15"
    )
    add(
        "--overlap S",
        "greatest share of a comment's words in its passage; default: 0.5, as in the paper",
        default=0.5,
    )
    add = partial(argument, parser)
    add("--least N", "least words of a comment", least=1, default=4)
    add("--most N", "most words of a comment", least=1, default=150)
    add("--near N", "sentences around the place that a comment names", least=1, default=10)
    add(
        "--longest N",
        "most sentences of a passage that is looked for or quoted",
        least=1,
        default=5,
    )
    add(
        "--context N",
        "sentences before a quotation that are its comment, 1 to 4",
        least=1,
        most=4,
        default=1,
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
    tell(built.notes(), built.continued, number_of(built.pieces, "pieces"), quality(built))
    note(f"{number_of(len(built.pairs), 'pairs', ',')}: {ids(args.output, built.splits)}")
    if args.checked is None:
        note(f"{number_of(len(built.candidates), 'pairs', ',')} to check: {args.output}/check.tsv")


def _recipe(args: argparse.Namespace) -> Any:
    from dataclasses import replace

    from irtoolkit.building.plotretrieval.alignment import USUAL, Reach
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

"""Build a benchmark in RELiC's form: quotations of books, masked out of the criticism that quotes them.

Books and works of criticism are .txt and .md files, or folders of them. Criticism is cleaned of page
numbers, running heads, footnotes and hyphens at line ends. Quotations are found by the runs of words
that they share with a book, in quotation marks or not, with changed spelling, ellipses and
insertions, and are mapped to whole sentences of the book. A window has up to four sentences on each
side. No two splits share a book. The folder also gets quality.txt and quality.html, a report;
windows.jsonl, which says where each window is from; and SOURCES.txt.
"""

from __future__ import annotations

import argparse

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

HELP = "RELiC: quotations masked out of literary criticism"
EXAMPLES = (
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine",
    "irtoolkit build relic --books emma.txt shirley.txt --criticism essays/ -o mine --test emma",
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine --workers 2",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--books", nargs="+", required=True, metavar="PATH", help="files or folders"
    )
    parser.add_argument(
        "--criticism", nargs="+", required=True, metavar="PATH", help="files or folders"
    )
    add_output(parser)
    parser.add_argument(
        "--ratio",
        type=float,
        default=80.0,
        action=between(0, 100),
        metavar="R",
        help="lowest QRatio of a quotation and its book, from 0 to 100",
    )
    add_counts(
        parser,
        run=(15, "least characters of the longest substring in both"),
        words=(6, "least words of a quotation that is all that is in marks or set off"),
        unmarked=(10, "least words of any other quotation; default: 10, as in the paper"),
        longest=(5, "most sentences of a quotation; longer ones are left out"),
    )
    parser.add_argument(
        "--clauses",
        action="store_true",
        help="divide books at colons, semicolons and ellipses, too, as the paper does",
    )
    add_books_of_splits(parser)
    parser.add_argument(
        "--hide-test",
        action="store_true",
        help="leave the quotations out of test.json, as the release does; they are in test.qrels",
    )
    add_replace(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.relic.build import Recipe, build_relic
    from irtoolkit.building.relic.quotations import Matching

    matching = Matching(args.ratio, args.run, args.words, args.unmarked, args.longest)
    recipe = Recipe(matching, args.clauses, tuple(args.val), tuple(args.test), args.hide_test)
    built = build_relic(args.books, args.criticism, args.output, recipe, replace=args.replace)
    tell(built.notes(), built.continued, f"{len(built.articles)} works", built.report)
    note(f"{len(built.windows):,} windows: {ids(args.output, built.splits)}")

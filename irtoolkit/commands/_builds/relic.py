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
from functools import partial

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

HELP = "RELiC: quotations masked out of literary criticism"
EXAMPLES = (
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine",
    "irtoolkit build relic --books emma.txt shirley.txt --criticism essays/ -o mine --test emma",
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine --workers 2",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("--books PATH...", "files or folders", required=True)
    add("--criticism PATH...", "files or folders", required=True)
    add_output(parser)
    add(
        "--ratio R",
        "lowest QRatio of a quotation and its book, from 0 to 100",
        type=float,
        least=0,
        most=100,
        default=80.0,
    )
    add("--run N", "least characters of the longest substring in both", least=1, default=15)
    add(
        "--words N",
        "least words of a quotation that is all that is in marks or set off",
        least=1,
        default=6,
    )
    add(
        "--unmarked N",
        "least words of any other quotation; default: 10, as in the paper",
        least=1,
        default=10,
    )
    add(
        "--longest N", "most sentences of a quotation; longer ones are left out", least=1, default=5
    )
    add("--clauses", "divide books at colons, semicolons and ellipses, too, as the paper does")
    add_books_of_splits(parser)
    add(
        "--hide-test",
        "leave the quotations out of test.json, as the release does; they are in test.qrels",
    )
    add_replace(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.relic.build import Recipe, build_relic
    from irtoolkit.building.relic.quotations import Matching

    matching = Matching(args.ratio, args.run, args.words, args.unmarked, args.longest)
    recipe = Recipe(matching, args.clauses, tuple(args.val), tuple(args.test), args.hide_test)
    built = build_relic(args.books, args.criticism, args.output, recipe, replace=args.replace)
    tell(built.notes(), built.continued, number_of(len(built.articles), "works"), built.report)
    note(f"{number_of(len(built.windows), 'windows', ',')}: {ids(args.output, built.splits)}")

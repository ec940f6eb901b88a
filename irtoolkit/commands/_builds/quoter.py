"""Build a benchmark in QuoteR's form: quotes of a list, masked out of the texts that have them.

A list is text, a quote on each line; its author and source may follow after tabs. The corpus is .txt and
.md files, or folders of them. Case, accents, white space, line ends and punctuation do not count when a
quote is looked for. Sentences of a quote that follow each other are one occurrence. Contexts are so many
words before and after it, or characters in Chinese, Japanese and other scripts without spaces. Val and
test have every quote, and train lacks some. The folder also gets quality.txt and quality.html, a report;
contexts.jsonl, which says where each context is from; and SOURCES.txt.
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note
from irtoolkit.commands._builds._common import (
    add_output,
    add_replace,
    ids,
    tell,
)
from irtoolkit.commands._engines import add_engine

HELP = "QuoteR: famous quotes masked out of the texts that have them"
EXAMPLES = (
    "irtoolkit build quoter --quotes quotes.txt --corpus books/ -o mine",
    "irtoolkit build quoter --quotes quotes.txt --corpus books/ -o mine --least 3 --workers 2",
    "irtoolkit build quoter --quotes poems.txt --corpus books/ -o mine --lang lzh",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    add("--quotes LIST...", "files or folders", required=True)
    add("--corpus PATH...", "files or folders", required=True)
    add_output(parser)
    add(
        "--lang CODE",
        "language, such as en, zh, lzh (classical Chinese); default: that of the quotes",
    )
    add(
        "--unit",
        "what contexts and quotes are counted in; default: that of the script",
        choices=("words", "characters"),
    )
    add(
        "--context N", "words or characters on each side; default: 40 words, 50 characters", least=1
    )
    add("--least N", "least contexts of a quote; default: 5, in characters 3", least=1)
    add(
        "--most N",
        "most contexts of a quote; of more, some are drawn; default: 200, or 150",
        least=1,
    )
    add(
        "--words N", "least words or characters of a quote; default: 4 words, 5 characters", least=1
    )
    add(
        "--alone N",
        "least words or characters of a sentence of a quote that counts without the others; default: 7"
        " words, 8 characters",
        least=1,
    )
    add("--short N", "least words or characters of both sides together", least=1, default=10)
    add("--unseen N", "quotes that train lacks, at most a tenth of all", least=0, default=100)
    add("--seed N", "of random choices", least=0, default=0)
    add_replace(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.quoter.build import build_quoter
    from irtoolkit.building.quoter.quality import quality
    from irtoolkit.building.quoter.recipe import Recipe

    recipe = Recipe(
        args.lang,
        args.unit,
        args.context,
        args.least,
        args.most,
        args.words,
        args.alone,
        args.short,
        args.unseen,
        args.seed,
    )
    built = build_quoter(args.quotes, args.corpus, args.output, recipe, replace=args.replace)
    tell(built.notes(), built.continued, number_of(len(built.texts), "texts"), quality(built))
    splits = [split for split, pairs in built.splits.items() if pairs]
    note(
        f"{number_of(len(built.pairs), 'contexts', ',')} of {number_of(len({p.quote for p in built.pairs}), 'quotes', ',')}: {ids(args.output, splits)}"
    )

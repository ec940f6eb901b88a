"""Build a benchmark in EgRet's form: examples, masked out of the texts that they explain.

Examples are the clauses in parentheses and the sentences with "for example" or "e.g.". Answers are JSON
lines of KILT or ELI5, or with the fields question and answer; Natural Questions are the published
files, simplified or not, of which paragraphs count that answer a question without a short answer;
books are .txt and .md files. JSON lines may be .gz, and files of any length are read line by line. No
two splits share a question, an answer, or a book. The folder also gets quality.txt and quality.html,
a report; and SOURCES.txt.
"""

from __future__ import annotations

import argparse
from functools import partial

from irtoolkit.base.plurals import number_of
from irtoolkit.commands import argument, note
from irtoolkit.commands._builds._common import add_output, add_replace, ids, tell
from irtoolkit.commands._engines import add_engine

HELP = "EgRet: examples masked out of answers or books"
EXAMPLES = (
    "irtoolkit build egret --books essays/ -o mine",
    "irtoolkit build egret --nq nq-train.jsonl.gz nq-dev.jsonl.gz -o mine --dev nq-dev.jsonl.gz",
    "irtoolkit build egret --answers answers.jsonl -o mine --share 0.05",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add = partial(argument, parser)
    one_of = partial(argument, parser.add_mutually_exclusive_group(required=True))
    one_of("--answers PATH...", "JSON lines of questions and answers")
    one_of("--nq PATH...", "Natural Questions as JSON lines")
    one_of("--books PATH...", ".txt and .md files")
    add_output(parser)
    add("--share S", "share of the examples that dev has, about", type=float, default=0.1)
    add("--dev FILE...", "files or books of dev, in place of a share")
    add(
        "--tokens N",
        "most tokens of context on each side; default: 256, as in the paper",
        least=1,
        default=256,
    )
    add("--tokenizer NAME", "what splits texts into tokens; default: words", default="whitespace")
    add_replace(parser)
    add_engine(parser)


def execute(args: argparse.Namespace) -> None:
    from irtoolkit.building.egret.build import Recipe, build_egret
    from irtoolkit.building.egret.pieces import Contexts
    from irtoolkit.building.egret.sources import KINDS

    kind = next(kind for kind in KINDS if getattr(args, kind))
    recipe = Recipe(args.share, tuple(args.dev), Contexts(args.tokens, args.tokenizer))
    built, report = build_egret(
        kind, getattr(args, kind), args.output, recipe, replace=args.replace
    )
    tell(built.notes(), built.continued, number_of(built.pieces, "pieces"), report)
    note(f"{number_of(built.examples.total(), 'examples', ',')}: {ids(args.output, built.splits)}")

"""Build a benchmark from texts of your own, in the form of a published one.

BENCHMARK says in which form; irtoolkit build BENCHMARK --help shows what it takes. The result is a
folder whose datasets every command takes: with -o mine, the dataset mine/val is used as relic/val is.
A build that was interrupted continues when the same command is given again.
"""

from __future__ import annotations

import argparse

from irtoolkit.commands import _builds
from irtoolkit.commands._overwriting import files_read
from irtoolkit.commands._parsing import add_command

HELP = "build a benchmark from your own texts"
EXAMPLES = (
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine",
    "irtoolkit build relic --books novels/ --criticism articles/ -o mine --clauses",
    "irtoolkit build egret --books essays/ -o mine",
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine",
    "irtoolkit build plotretrieval --books novels/ --comments comments/ -o mine --checked mine/check.tsv",
    "irtoolkit build quoter --quotes quotes.txt --corpus books/ -o mine",
    "irtoolkit build csfcube --documents docs.jsonl --queries queries.csv -o mine",
)


def configure(parser: argparse.ArgumentParser) -> None:
    from irtoolkit.base.discovery import modules

    subparsers = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    for module in modules(_builds):
        sub = add_command(subparsers, module.__name__.rpartition(".")[2], module)
        module.configure(sub)
        sub.set_defaults(build=module.execute, files_read=files_read(sub))


def execute(args: argparse.Namespace) -> None:
    args.build(args)

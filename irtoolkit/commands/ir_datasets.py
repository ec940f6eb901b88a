"""The command of ir_datasets, which sees irtoolkit's collections too."""

from __future__ import annotations

import argparse

from irtoolkit.commands import pass_on

HELP = "ir_datasets' own command, with our collections"
EXAMPLES = (
    "irtoolkit ir_datasets export csfcube/sample/method queries --fields query_id facet",
    "irtoolkit ir_datasets lookup csfcube/sample 910000057 --fields doc_id title",
)


def configure(parser: argparse.ArgumentParser) -> None:
    pass_on(parser)


def execute(args: argparse.Namespace) -> None:
    import ir_datasets

    ir_datasets.main(args.arguments)

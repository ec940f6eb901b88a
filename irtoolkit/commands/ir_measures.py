"""The command of ir_measures, which sees irtoolkit's collections and measures too."""

from __future__ import annotations

import argparse

from irtoolkit.base.errors import InputError
from irtoolkit.commands import pass_on

HELP = "ir_measures' own command, with our collections and measures"
EXAMPLES = (
    'irtoolkit ir_measures csfcube/sample runs/bm25.run "nDCGp(p=20)" nDCG@10',
    "irtoolkit ir_measures csfcube/sample runs/bm25.run AP --by_query --places 6",
)


def configure(parser: argparse.ArgumentParser) -> None:
    pass_on(parser)


def execute(args: argparse.Namespace) -> None:
    import sys

    from ir_measures.__main__ import main_cli

    before = sys.argv
    # It takes its arguments from nowhere else.
    sys.argv = ["irtoolkit ir_measures", *args.arguments]
    try:
        main_cli()
    except IsADirectoryError as error:
        raise InputError(
            "ir_measures reads no folder",
            file=error.filename,
            remedy="give the file of its judgments, or score with irtoolkit eval FOLDER RUN",
        ) from None
    finally:
        sys.argv = before

"""Show the help of irtoolkit, or of one command with its examples."""

from __future__ import annotations

import argparse

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.commands import argument

HELP = "show the help of irtoolkit or of a command"
EXAMPLES = ("irtoolkit help", "irtoolkit help retrieve")


def configure(parser: argparse.ArgumentParser) -> None:
    argument(parser, "[COMMAND]", default="")


def execute(args: argparse.Namespace) -> None:
    if args.command not in args.parsers:
        raise InputError(
            f"no command {args.command!r}",
            remedy=f"{did_you_mean(args.command, args.parsers)}irtoolkit help lists them",
        )
    args.parsers[args.command].print_help()

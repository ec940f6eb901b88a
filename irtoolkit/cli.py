"""The `irtoolkit` command."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import irtoolkit
from irtoolkit import commands
from irtoolkit.base import plugins
from irtoolkit.base.discovery import modules
from irtoolkit.base.errors import InputError

BAD_INPUT = 2
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line in place of argparse's usage."""
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(BAD_INPUT)


def build_parser() -> _Parser:
    """The parser of `irtoolkit` with every command module's own."""
    shared = _Parser(add_help=False)
    shared.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors"
    )
    parser = _Parser(
        prog="irtoolkit",
        description="Retrieval where words do not overlap: benchmarks, retrievers, TREC runs, measures.",
        parents=[shared],
    )
    parser.add_argument("--version", action="version", version=f"irtoolkit {irtoolkit.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in _commands():
        sub = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog="examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[shared],
        )
        module.configure(sub)
        sub.set_defaults(execute=module.execute)
    return parser


def _commands() -> Iterator[tuple[str, Any]]:
    """Names and modules of the commands: ours, and those of other packages under other names."""
    ours = {module.__name__.rpartition(".")[2].strip("_"): module for module in modules(commands)}
    yield from ours.items()
    for name, module in plugins.each(plugins.COMMANDS):
        if name not in ours:
            yield name, module


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
        Exit status: 0; 2 on bad input, with one line on standard error; 130 when interrupted.
    """
    args = build_parser().parse_args(argv)
    debug = getattr(args, "debug", False)
    try:
        status: int | None = args.execute(args)
        sys.stdout.flush()
        return status or 0
    except InputError as error:
        if debug:
            traceback.print_exc()
        print(f"irtoolkit: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader went away, as `| head` does; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # ir_datasets and others raise what they like, a failed download among them.
        if debug:
            traceback.print_exc()
        reason = " ".join(str(error).split()) or "no reason given"
        print(f"irtoolkit: {type(error).__name__}: {reason} (--debug shows where)", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("irtoolkit: interrupted; nothing half-written was left", file=sys.stderr)
        return INTERRUPTED

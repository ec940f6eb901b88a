"""The `irtoolkit` command."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from irtoolkit import commands
from irtoolkit.base import discovery, ending, plugins
from irtoolkit.base.errors import InputError
from irtoolkit.base.launch import launch, nothing_to_do
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import shown
from irtoolkit.base.reasons import reason_of
from irtoolkit.base.textwidth import printable
from irtoolkit.commands import _streams as streams
from irtoolkit.commands._engines import engine_of
from irtoolkit.commands._overwriting import check_overwriting, files_read
from irtoolkit.commands._parsing import BAD_INPUT, CommandParser, add_command, naming_flags
from irtoolkit.commands._pipes import copy_pipes
from irtoolkit.version import __version__

# Commands that look at the parsers of all others.
_OF_ALL = ("help", "completion")


def build_parser(command: str | None = None) -> CommandParser:
    """Returns the parser of `irtoolkit` with every command module's own.

    Args:
        command: one of ours, to have its parser alone: making all of them takes longer than many
            commands do.
    """
    parser = CommandParser(
        prog="irtoolkit",
        description="Retrieval where words do not overlap: benchmarks, retrievers, TREC runs, measures.",
        epilog="irtoolkit help COMMAND shows a command with examples.",
    )
    _add_shared(parser, version=None)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in _commands(command):
        sub = add_command(subparsers, name, module)
        _add_shared(sub, version=argparse.SUPPRESS)
        module.configure(sub)
        shared = getattr(module, "SHARED", False)
        sub.set_defaults(execute=module.execute, shared=shared, files_read=files_read(sub))
    for sub in subparsers.choices.values():
        sub.set_defaults(parsers={"": parser, **subparsers.choices})
    return parser


def _add_shared(parser: CommandParser, version: str | None) -> None:
    """Adds the arguments that `irtoolkit` and every command have."""
    parser.add_argument(
        "--version",
        action="version",
        version=f"irtoolkit {__version__}",
        help=version or "show the version and exit",
    )
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks of errors"
    )


def _commands(only: str | None = None) -> Iterator[tuple[str, Any]]:
    """Names and modules of the commands: ours, or one of them; and those of other packages."""
    ours = _own()
    for name in ours if only is None else (only,):
        yield name, importlib.import_module(ours[name])
    for name, module in plugins.each(plugins.COMMANDS) if only is None else ():
        if name not in ours:
            yield name, module


@cache
def _own() -> dict[str, str]:
    """Returns the names of our commands with those of their modules, without importing them."""
    names = discovery.names(commands)
    return {name.strip("_"): f"{commands.__name__}.{name}" for name in names}


def _alone(words: Sequence[str]) -> str | None:
    """Returns the command of ours that comes first and needs no other's parser."""
    command = words[0] if words else None
    return command if command in _own() and command not in _OF_ALL else None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; without one, prints the help.

    Returns:
        Exit status: 0; 2 on bad input, with one line on standard error; 130 when interrupted,
        143 after SIGTERM and 129 after SIGHUP if this process handles them.
    """
    streams.prepare()
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    args = argparse.Namespace()
    try:
        parser = build_parser(_alone(words))
        with streams.flushed(), streams.messages_once():
            args = _parsed(parser, words or ["--help"])
            if _is_left_to_another(words, args.shared):
                return 0
            check_overwriting(args)
            copy_pipes(args)
            with engine_of(args):
                status: int | None = args.execute(args)
        return status or 0
    except BrokenPipeError:
        # The reader went away, as `| head` does; nothing more can be said to it.
        streams.drop_output()
        return 0
    except KeyboardInterrupt as interrupt:
        continues = _command_in(words) in ("index", "train", "build")
        outcome = "the same command continues" if continues else "nothing half-written was left"
        streams.say(f"irtoolkit: interrupted; {outcome}")
        return ending.status(interrupt)
    except Exception as error:
        # ir_datasets and others raise what they like, a failed download among them.
        message = f"irtoolkit: {_reason(error, args, _flags_of(args, words))}"
        if debug:
            message = message.removesuffix(" (--debug shows where)")
            streams.say(_traceback(error, message))
        # Names of files and documents may hold what controls a terminal.
        streams.say("\n".join(map(printable, message.split("\n"))))
        return BAD_INPUT


def _traceback(error: Exception, message: str) -> str:
    """Returns the traceback of an error, without its last lines if the message repeats them."""
    trace = traceback.format_exc()
    if str(error) in message:
        trace = trace.removesuffix("".join(traceback.format_exception_only(error)))
    return trace.rstrip()


def _reason(error: Exception, args: argparse.Namespace, flags: Sequence[str]) -> str:
    """Returns the message of an error, without its traceback."""
    if isinstance(error, InputError):
        return str(naming_flags(error, args, flags))
    if isinstance(error, OSError) and error.strerror:
        file = f"{shown(error.filename)}: " if isinstance(error.filename, str) else ""
        return f"{file}{error.strerror} (--debug shows where)"
    reason = " ".join(str(error).split())
    if type(error).__name__ == "AcceleratorError" or "CUDA error" in reason:
        return (
            f"the GPU does not answer: {reason_of(error)}; what was encoded or saved is kept: give the"
            " same command again, on another GPU or with --device cpu (--debug shows where)"
        )
    if isinstance(error, MemoryError):
        return f"not enough memory{reason and f': {reason}'} (--debug shows where)"
    return f"{type(error).__name__}: {reason or 'no reason given'} (--debug shows where)"


def _is_left_to_another(words: Sequence[str], shared: bool) -> bool:
    """Returns whether another process of this launch does a command; the first logs it."""
    process = launch()
    if process.helps:
        if not shared:
            commands.note(nothing_to_do(process))
        return not shared
    if process.several:
        sharing = (
            "which share this command; the first writes"
            if shared
            else f"{_command_in(words)} is not shared, so the first does it and the others end"
        )
        joint = ", " if shared else "; "
        commands.note(
            f"irtoolkit: {process.launcher} started {process.size} processes{joint}{sharing}"
        )
    return False


def _parsed(parser: CommandParser, words: list[str]) -> argparse.Namespace:
    """Returns the arguments; a command that does not exist is answered with the nearest ones."""
    command = _command_in(words)
    if command is not None and command not in _own():
        names = [name for name, _ in _commands()]
        if command not in names:
            parser.error(f"no command {command!r}; {did_you_mean(command, names)}".rstrip("; "))
    return parser.parse_args(words)


def _command_in(words: Sequence[str]) -> str | None:
    """Returns the first word that is not a flag: the flags before a command have no values."""
    return next((word for word in words if not word.startswith("-")), None)


def _flags_of(args: argparse.Namespace, words: Sequence[str]) -> list[str]:
    """Returns the flags of the given command."""
    parser = getattr(args, "parsers", {}).get(_command_in(words))
    return [] if parser is None else list(parser.flags())

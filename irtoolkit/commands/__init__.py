"""The subcommands of `irtoolkit`, one a module.

A command module has HELP (one line), EXAMPLES (lines shown under its help), `configure`, which
adds its arguments to a parser, and `execute`, which takes the parsed arguments. Modules import
what they run only when they run it, so that help is immediate.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from irtoolkit.base.errors import InputError

if TYPE_CHECKING:
    from irtoolkit.ranking.systems import System
    from irtoolkit.runs import Run

FORMATS = ("text", "json", "csv", "latex")


def add_format(parser: argparse.ArgumentParser) -> None:
    """The --format argument that every command with a table has."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The --set argument of commands that run a system."""
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", dest="settings",
        help="settings of the system; query, doc, self and ties are taken by all",
    )  # fmt: skip


def add_measures(parser: argparse.ArgumentParser) -> None:
    """The --measures argument of commands that score; see `measures_of`."""
    parser.add_argument(
        "--measures", nargs="+", action="extend", metavar="M",
        help='ir_measures names, e.g. nDCG@10 "AP(rel=2)"; default: the dataset\'s own',
    )  # fmt: skip


def measures_of(args: argparse.Namespace) -> str | None:
    """The measures that were asked for, or None for the dataset's own."""
    return None if args.measures is None else " ".join(args.measures)


def pass_on(parser: argparse.ArgumentParser) -> None:
    """Makes a command take whatever stands after its name, --help too, as `arguments`.

    For commands of other packages, which read their arguments themselves: where no character
    begins an option, all are positional.
    """
    parser.prefix_chars = "\0"
    parser.add_argument("arguments", nargs=argparse.REMAINDER)


def parse_pairs(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE arguments as a dict.

    Raises:
        InputError: an argument without "=", or a key given twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"setting {pair!r} is not KEY=VALUE")
        if key in found:
            raise InputError(f"setting {key} is given twice")
        found[key] = value
    return found


def print_json(content: Any) -> None:
    """Prints JSON; a number that JSON cannot hold, such as an infinite rank, is null."""
    import json

    print(json.dumps(_finite(content), indent=2, allow_nan=False, ensure_ascii=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def note(text: str) -> None:
    """A line for the person at the terminal, kept out of the output."""
    print(text, file=sys.stderr)


def written(path: str, run: Run, system: System) -> str:
    """What a command says of a run that it has written; settings at their defaults are left out."""
    said = f"{path}: {len(run.query_ids)} queries, {len(run)} rows; {system.retriever.name}"
    return " ".join([said, shown(system.changed())]).rstrip()


def shown(values: Mapping[str, Any]) -> str:
    """Settings on one line."""
    return " ".join(f"{key}={value}" for key, value in values.items())

"""Common parts of the commands that build benchmarks: arguments, and closing messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from irtoolkit.commands import local_folder, note
from irtoolkit.commands._parsing import at_least

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Parser

    from irtoolkit.building.quality import Quality


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the folder that is built."""
    parser.add_argument(
        "-o",
        "--output",
        type=local_folder,
        required=True,
        metavar="FOLDER",
        help="folder of the benchmark; its ids begin with it",
    )


def add_books_of_splits(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the books of a split."""
    parser.add_argument("--val", nargs="+", default=[], metavar="BOOK", help="books of val")
    parser.add_argument("--test", nargs="+", default=[], metavar="BOOK", help="books of test")


def add_counts(parser: Parser, **counts: tuple[int | None, str]) -> None:
    """Adds arguments that take a whole number of at least 1.

    Args:
        parser: the parser, or a group of it.
        counts: the name of each, with its default and its help.
    """
    for name, (default, description) in counts.items():
        parser.add_argument(f"--{name}", default=default, action=at_least(1), help=description)


def add_replace(parser: argparse.ArgumentParser) -> None:
    """Adds the argument for replacing the content of the folder."""
    parser.add_argument(
        "--replace", action="store_true", help="replace a benchmark of other texts or settings"
    )


def tell(notes: Iterable[str], continued: int, pieces: str, report: Quality | None) -> None:
    """Prints the notes on a build, and its report without the sample.

    Args:
        notes: lines to print.
        continued: number of pieces that an earlier build had done.
        pieces: all pieces in words, for example "3 works".
        report: on the benchmark.
    """
    for line in notes:
        note(line)
    if continued:
        note(f"{continued} of {pieces} were done before")
    if report is not None:
        print("\n".join(report.as_text(sample=False)))


def ids(output: str, splits: Iterable[str]) -> str:
    """Returns the ids of the datasets that were built, for a line."""
    return ", ".join(f"{output}/{split}" for split in splits)

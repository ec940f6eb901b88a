"""What the commands that build benchmarks have in common: arguments, and what they say at the end."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from irtoolkit.commands import local_folder, note

if TYPE_CHECKING:
    from irtoolkit.building.quality import Quality


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the folder that is built."""
    parser.add_argument(
        "-o", "--output", type=local_folder, required=True, metavar="FOLDER",
        help="folder of the benchmark; its ids begin with it",
    )  # fmt: skip


def add_books_of_splits(parser: argparse.ArgumentParser) -> None:
    """Adds the books that are wanted in a split."""
    parser.add_argument("--val", nargs="+", default=[], metavar="BOOK", help="books of val")
    parser.add_argument("--test", nargs="+", default=[], metavar="BOOK", help="books of test")


def add_replace(parser: argparse.ArgumentParser) -> None:
    """Adds whether what is in the folder is replaced."""
    parser.add_argument(
        "--replace", action="store_true", help="replace a benchmark of other texts or settings"
    )


def tell(notes: Iterable[str], continued: int, pieces: str, report: Quality | None) -> None:
    """Says what a user should know of a build, and prints its report without the sample.

    Args:
        notes: lines to say.
        continued: how many pieces an earlier build had done.
        pieces: how many there are, such as "3 works".
        report: on the benchmark.
    """
    for line in notes:
        note(line)
    if continued:
        note(f"{continued} of {pieces} were done before")
    if report is not None:
        print("\n".join(report.as_text(sample=False)))


def ids(output: str, splits: Iterable[str]) -> str:
    """The ids of the datasets that were built, for a line."""
    return ", ".join(f"{output}/{split}" for split in splits)

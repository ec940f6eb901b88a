"""Common parts of the commands that build benchmarks: arguments, and closing messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from irtoolkit.commands import argument, local_folder, note

if TYPE_CHECKING:
    from irtoolkit.building.quality import Quality


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the folder that is built."""
    argument(
        parser,
        "-o, --output FOLDER",
        "folder of the benchmark; its ids begin with it",
        type=local_folder,
        required=True,
    )


def add_books_of_splits(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the books of a split."""
    add = partial(argument, parser)
    add("--val BOOK...", "books of val")
    add("--test BOOK...", "books of test")


def add_replace(parser: argparse.ArgumentParser) -> None:
    """Adds the argument for replacing the content of the folder."""
    argument(parser, "--replace", "replace a benchmark of other texts or settings")


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
        note(f"done before: {continued} of {pieces}")
    if report is not None:
        print("\n".join(report.as_text(sample=False)))


def ids(output: str, splits: Iterable[str]) -> str:
    """Returns the ids of the datasets that were built, for a line."""
    return ", ".join(f"{output}/{split}" for split in splits)

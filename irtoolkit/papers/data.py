"""Search for the data of a table before it is measured."""

from __future__ import annotations

from collections.abc import Callable

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.tables import Table

# The longest time that a download may take where the sample would do, in seconds.
DOWNLOAD_SECONDS = 20


def absent_data(table: Table) -> dict[str, str]:
    """Returns what to get for each group of a table without data on this machine. Reads no data.

    For collections of other packages, which get their own data, it is unknown.
    """
    absent: dict[str, str] = {}
    for group, dataset_id in table.groups.items():
        benchmark = Dataset.load(dataset_id).about
        try:
            if benchmark is not None and benchmark.where() is None:
                remedy = (
                    benchmark.howto
                    if benchmark.fetch is None
                    else f"reproduce downloads it, or {benchmark.howto}"
                )
                absent[group] = f"{benchmark.title} is not on this machine: {remedy}"
        except InputError as error:
            absent[group] = str(error)
    return absent


def absent_lines(table: Table) -> list[str]:
    """Returns the lines that say which data of a table are not on this machine."""
    absent, lines = absent_data(table), []
    for why in dict.fromkeys(absent.values()):
        groups = [group for group, reason in absent.items() if reason == why]
        all_groups = len(groups) == len(table.groups)
        lines.append(why if all_groups else f"{', '.join(groups)}: {why}")
    return lines


def find_data(table: Table, say: Callable[[str], None], seconds: float = DOWNLOAD_SECONDS) -> bool:
    """Returns whether the data of a table are on this machine, after a download if that is quick.

    Args:
        table: the experiment table.
        say: called with one line before a download, and with one line if the data are not found.
        seconds: the longest time to wait for a download.
    """
    benchmarks = [Dataset.load(dataset_id).about for dataset_id in table.groups.values()]
    records = [benchmark for benchmark in benchmarks if benchmark is not None]
    if not records:  # a collection of ir_datasets or another package, which gets its own data
        return True
    try:
        if any(benchmark.where() is not None for benchmark in records):
            return True
        first = records[0]
        if first.fetch is None:
            raise InputError(f"{first.title} cannot be downloaded", remedy=first.howto)
        say(
            f"{first.title} is not on this machine: downloading it, for at most {seconds:g} seconds."
        )
        first.fetch(seconds)
    except InputError as error:
        say(f"Using the invented sample: {error}")
        return False
    return True

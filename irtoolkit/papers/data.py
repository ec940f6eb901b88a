"""The data of a table before it is measured: what is not here, and candidates picked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import sha256
from irtoolkit.building.nway import hardest_candidates
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.nway import nway_path, parse_nway_id, write_nway
from irtoolkit.models.downloads import only_here
from irtoolkit.papers.results import dataset_of
from irtoolkit.papers.row_commands import CANDIDATES_DEPTH, candidates_name
from irtoolkit.papers.systems import find_in
from irtoolkit.papers.tables import Table
from irtoolkit.ranking.produce import produce


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


def pick_candidates(
    table: Table, group: str, sample: bool, out: Path, say: Callable[[str], None]
) -> None:
    """Picks the candidates of a group by the table's rule, unless they have been picked.

    Candidates that `irtoolkit nway` picked otherwise, for example of one book, are kept.

    Args:
        table: the experiment table.
        group: a group of the table; without a rule, nothing is done.
        sample: whether to use the shipped sample in place of the real collection.
        out: folder for the run that they are picked from.
        say: called with a line of progress.

    Raises:
        InputError: the system of the rule cannot run here, or the data are missing.
    """
    rule, dataset_id = table.candidates.get(group), dataset_of(table.groups[group], sample)
    if rule is None:
        return
    if nway_path(dataset_id).is_file():
        say(f"{dataset_id}: candidates as they were picked, in {nway_path(dataset_id)}")
        return
    base_id, _ = parse_nway_id(dataset_id)
    _ = Dataset.load(base_id).qrels  # missing data are said before a missing model
    system = find_in(table, rule["system"], base_id).filled()
    with only_here():
        remedy = system.missing()
    if remedy is not None:
        raise InputError(f"its candidates are the best documents of {system.name}: {remedy}")
    path = out / candidates_name(table, group, sample)
    produce(base_id, system, path, depth=CANDIDATES_DEPTH, reuse=True)
    picked = hardest_candidates(dataset_id, path, rule.get("below"))
    origin = {"system": system.name, "run": sha256(path), "below": rule.get("below")}
    say(f"{dataset_id}: candidates picked from {path}, in {write_nway(dataset_id, picked, origin)}")

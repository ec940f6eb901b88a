"""Facts that a report states about its dataset and its runs."""

from __future__ import annotations

import shlex
from pathlib import Path

from irtoolkit.base.files import StrPath
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import provenance

# Facts of a registered collection that its maker has not stated.
UNSTATED = "not stated"

Facts = tuple[tuple[str, str], ...]


def dataset_facts(dataset: Dataset) -> Facts:
    """(Name, value) pairs about a dataset: its task, paper, licence and size."""
    judged = len(dataset.qrels.query_ids)
    facts = [("Queries", f"{judged:,} judged")]
    benchmark = dataset.about
    if benchmark is not None:
        facts = [
            ("Task", benchmark.description or benchmark.title),
            ("Benchmark", benchmark.title),
            ("Paper", benchmark.citation),
            ("Licence of the data", benchmark.licence),
            *facts,
        ]
        count = dataset.queries_count() if dataset.has("queries") else judged
        differs = benchmark.difference(count)
        if differs is not None:
            facts.append(("Data", differs))
    return tuple(
        (name, " ".join(value.split())) for name, value in facts if value not in ("", UNSTATED)
    )


def dataset_url(dataset: Dataset) -> str | None:
    """The web address of a dataset, or None where it is unknown."""
    url = "" if dataset.about is None else dataset.about.url
    return url if url.startswith(("https://", "http://")) else None


def run_facts(path: StrPath | None) -> Facts:
    """(Name, value) pairs about how a run was made, as the record beside its file states them.

    Facts about the machine are left out. Empty for a run without a file or a record.
    """
    record = (None if path is None else provenance.read_metadata(path)) or {}
    details = record.get("irtoolkit")
    if not isinstance(details, dict):
        return ()
    settings = details.get("settings")
    facts = {
        "system": details.get("system"),
        "retriever": details.get("retriever"),
        "settings": " ".join(f"{k}={v}" for k, v in settings.items())
        if isinstance(settings, dict)
        else None,
        "made for": details.get("dataset"),
        "irtoolkit": details.get("version"),
        "date": record.get("date"),
    }
    return tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))


def run_command(path: StrPath | None) -> str:
    """Returns the command that made a run, as the record beside its file states it; empty if it does not.

    Of absolute paths only the names are left: a page says nothing about folders of a machine.
    """
    record = (None if path is None else provenance.read_metadata(path)) or {}
    implementation = record.get("implementation")
    program = implementation.get("executable") if isinstance(implementation, dict) else None
    command = program.get("cmd") if isinstance(program, dict) else None
    if not isinstance(command, str):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark that is never closed
        return ""
    return shlex.join(map(_without_folder, words))


def _without_folder(word: str) -> str:
    """A word of a command, of which an absolute path keeps its name alone."""
    option, mark, value = word.rpartition("=")
    return f"{option}{mark}{Path(value).name}" if Path(value).is_absolute() else word

"""The runs to be scored, each under the name of its system."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from irtoolkit.base.arguments import check_type
from irtoolkit.base.errors import InputError
from irtoolkit.base.frames import is_frame
from irtoolkit.base.paths import is_url, on_disk, same_place, shown
from irtoolkit.base.plurals import number_of
from irtoolkit.runs import Run
from irtoolkit.scoring.run_notes import UNNAMED


def is_path(value: Any) -> bool:
    """Returns whether a run is a file."""
    return isinstance(value, str | PathLike)


def check_names(names: Sequence[str]) -> None:
    """Raises InputError for names of systems that are not a list, or include an empty one."""
    check_type("names", names, Sequence[str])
    if any(not name.strip() for name in names):
        raise InputError("a name of a system is empty", remedy="give every run a name")


def named_runs(runs: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Returns name to run, from one run, several, or a mapping of names."""
    names = () if names is None else names
    check_names(names)
    listed = _listed(runs)
    if len(names) not in (0, len(listed)):
        raise InputError(
            f"{number_of(len(names), 'names')} for {number_of(len(listed), 'runs')}",
            remedy="one name for each run",
        )
    if not listed:
        raise InputError("no runs to score", remedy="give at least one")
    _check_runs(source for _, source in listed)
    if len(names):
        labels = list(names)
    else:
        labels = [label or _label(source) for label, source in listed]
        files = [same_place(source) for _, source in listed if is_path(source)]
        if len(set(files)) != len(files):
            raise InputError("a run is given twice")
    return dict(zip(_distinct(labels), [source for _, source in listed], strict=True))


def _check_runs(sources: Iterable[Any]) -> None:
    """Raises InputError if a run is not a file but a system or a measure, as in eval mine bm25 AP."""
    for source in sources:
        if not isinstance(source, str) or is_url(source) or os.path.exists(on_disk(source)):
            continue
        # A run that is there needs no list of the systems.
        from irtoolkit.retrievers.system_names import general_name

        if general_name(source) is not None:
            raise InputError(
                f"{source} is a system, and runs are scored",
                remedy=f"irtoolkit retrieve DATASET {source} -o FILE makes its run, and so does ir.retrieve",
            )
        if _is_measure(source):
            raise InputError(
                f"{source} is a measure, and runs are scored",
                remedy="-m takes one measure, --measures several, and in Python measures=[...]",
            )


def _is_measure(name: str) -> bool:
    from irtoolkit.scoring.evaluation import parse_measures

    try:
        return bool(parse_measures([name]))
    except InputError:
        return False


def _listed(runs: Any) -> list[tuple[str, Any]]:
    """Returns (name or "", run) pairs."""
    if isinstance(runs, Mapping):
        # Names to runs; a dict run itself has {document id: score} as its values.
        if all(
            isinstance(value, Run) or is_path(value) or _is_dict_run(value)
            for value in runs.values()
        ):
            return [(str(name), value) for name, value in runs.items()]
        return [("", runs)]
    if isinstance(runs, Run) or is_path(runs) or is_frame(runs):
        return [("", runs)]
    if isinstance(runs, list | tuple) and (not runs or not _is_row(runs[0])):
        return [("", value) for value in runs]
    return [("", runs)]


def _is_dict_run(value: Any) -> bool:
    """Returns whether it is {query id: {document id: score}}."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(docs, Mapping) for docs in value.values())
    )


def _is_row(value: Any) -> bool:
    """Returns whether it is one (query id, document id, score) row of a run."""
    if is_frame(value):  # a data frame may have a column of this name
        return False
    return hasattr(value, "doc_id") or (
        isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], str | int)
    )


def _label(source: Any) -> str:
    if is_path(source):
        return shown(source)
    tag = source.tag if isinstance(source, Run) else getattr(source, "name", None)
    return tag if isinstance(tag, str) and tag else UNNAMED


def _distinct(labels: Sequence[str]) -> list[str]:
    """Returns the labels, those that occur again with a number."""
    counts: Counter[str] = Counter()
    unique: list[str] = []
    for label in labels:
        counts[label] += 1
        unique.append(label if counts[label] == 1 else f"{label}-{counts[label]}")
    return unique

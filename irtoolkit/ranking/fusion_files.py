"""Fusion of run files, with the record of what was fused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, is_file, sha256
from irtoolkit.base.paths import is_url, on_disk, place_of, same_place, without_credentials
from irtoolkit.base.stamps import unchanged
from irtoolkit.ranking.fusion import check_together, datasets_named, fuse, method_of
from irtoolkit.ranking.fusion_methods import Method
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import RunForm, check_run_name
from irtoolkit.version import __version__


def fuse_files(
    paths: Sequence[StrPath],
    output: StrPath,
    method: str | Method = "rrf",
    *,
    depth: int | None = None,
    tag: str | None = None,
    form: RunForm = "trec",
    progress: bool = True,
    report: Callable[[str], object] = lambda _: None,
    check: Callable[[Sequence[Run]], object] = lambda _: None,
    **settings: Any,
) -> Run:
    """Fuses run files; writes the fused run, and a record beside it that names them by hash.

    Args:
        paths: runs in TREC text, .gz or Parquet; weights are in the same order.
        output: the file of the fused run; the command refuses one of `paths`, which would be lost.
        form: of the file, see `Run.write`.
        method, depth, tag, progress, settings: see `fuse`.
        report: called with each sign that the runs are not of one dataset.
        check: called with the runs before they are fused; may refuse them.

    Raises:
        InputError: see `fuse` and `Run.read`; a file is given twice, or one shares no query with
            the others.
    """
    check_run_name(output, form)
    _check_runs(paths)
    if len(set(map(same_place, paths))) != len(paths):
        raise InputError("a run is given twice", remedy="give it a greater weight")
    chosen = method_of(method, settings)
    with unchanged(paths):
        runs = [Run.read(path) for path in paths]
        inputs = [run_input(path, run) for path, run in zip(paths, runs, strict=True)]
    check(runs)
    started = time.monotonic()
    # No scores tie, as in every run that irtoolkit writes.
    fused = fuse(runs, chosen, depth=depth, tag=tag, progress=progress).untied()
    seconds = time.monotonic() - started
    strange = check_together(runs, [str(path) for path in paths])
    for line in strange:
        report(line)
    # One collection may have several names: its folder, an id, an index of it.
    dataset = _agreed_dataset(inputs, report if strange else _unsaid)
    record = {**_record(fused, chosen, inputs), "dataset": dataset, "depth": depth}
    publish(fused, output, record, seconds, form=form)
    return fused


def _check_runs(paths: Sequence[StrPath]) -> None:
    """Raises InputError if one of what is fused is a folder or a dataset, as other commands take first."""
    from irtoolkit.datasets.recognise import is_dataset

    for path in paths:
        is_absent = not is_url(path) and not os.path.exists(on_disk(path))
        if os.path.isdir(on_disk(path)) or (is_absent and is_dataset(path)):
            raise InputError(
                "not a run, and fuse takes runs only",
                file=path,
                remedy="leave out datasets and folders",
            )


def _record(fused: Run, method: Method, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the record of a fused run, but for its dataset and depth."""
    return {
        "system": fused.tag,
        "retriever": method.name,
        "settings": method.settings(),
        "runs": [{**item, "file": without_credentials(item["file"])} for item in inputs],
        "version": __version__,
    }


def _unsaid(line: str) -> None:
    """Reports nothing."""


def _agreed_dataset(
    inputs: Sequence[Mapping[str, Any]], report: Callable[[str], object]
) -> str | None:
    """The dataset that the records beside all inputs name, or None where they do not agree."""
    named = {item["file"]: _dataset(item) for item in inputs}
    different = datasets_named(named)
    if different is not None:
        report(different)
    datasets = set(named.values())
    return datasets.pop() if len(datasets) == 1 else None


def run_input(path: StrPath, run: Run) -> dict[str, Any]:
    """Returns the record of a run file: its path, hash and tag."""
    # A pipe cannot be read again, so it has no hash.
    digest = sha256(path) if is_file(path) else None
    return {"file": str(place_of(path)), "sha256": digest, "tag": run.tag}


def _dataset(item: Mapping[str, Any]) -> str | None:
    """The dataset that the record beside an input names; None without a record of that file."""
    record = (provenance.read_metadata(item["file"]) or {}).get("irtoolkit")
    if not isinstance(record, dict) or record.get("sha256") != item["sha256"]:
        return None
    named = record.get("dataset")
    return named if isinstance(named, str) else None

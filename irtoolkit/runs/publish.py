"""Writing a run with what belongs beside it: exact ranks, and the record of how it was made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.launch import launch
from irtoolkit.base.locks import locked
from irtoolkit.runs import provenance
from irtoolkit.runs.exact_ranks import Ranks, remove_ranks, write_ranks
from irtoolkit.runs.run import Run
from irtoolkit.runs.storage import RunForm


def publish(
    run: Run,
    path: StrPath,
    made: Mapping[str, Any],
    seconds: float,
    ranks: Ranks | None = None,
    *,
    form: RunForm = "trec",
) -> None:
    """Writes a run, its exact ranks and its record; no run is ever beside another run's record.

    Of the processes of a launch the first writes. Processes that know nothing of each other may
    write to one path at once: one after the other does.

    Args:
        run: scores of one query should not tie; see `irtoolkit.retrievers.ordering.untied`.
        path: TREC text, .gz or Parquet by its name; a pipe or device gets the run alone.
        made: everything that decided the run.
        seconds: time the ranking took.
        form: see `Run.write`.
        ranks: exact ranks of relevant documents; none are written when None or empty.

    Raises:
        InputError: an id that TREC text cannot hold, or the disk refuses.
    """
    if launch().helps:
        return
    target = Path(path)
    if target.exists() and not target.is_file():  # a pipe or device, or a folder, which is refused
        run.write(path, form)
        return
    with _alone(target):
        # The record is removed first and written last.
        with suppress(OSError):  # the writer refuses an impossible path and says why
            provenance.metadata_path(path).unlink()
        remove_ranks(path)
        run.write(path, form)
        if ranks:
            write_ranks(path, ranks)
        content = provenance.record({**made, "sha256": sha256(path)}, seconds)
        provenance.write_metadata(path, content)


def _alone(target: Path) -> AbstractContextManager[object]:
    """Keeps other writers of a file out, where its folder takes a lock."""
    folder = target.parent
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return nullcontext()  # the writer says what is wrong
    return locked(target.with_name(f".{target.name}.lock"), remove=True)

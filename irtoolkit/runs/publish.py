"""Writing of a run together with its exact ranks and the record of how it was made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from irtoolkit.base.files import StrPath
from irtoolkit.base.launch import launch
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import beside, hidden_beside, on_disk, url_of
from irtoolkit.base.streams import is_special
from irtoolkit.base.temporaries import remove_abandoned
from irtoolkit.runs import provenance
from irtoolkit.runs.exact_ranks import RANKS_END, ranks_path, write_ranks
from irtoolkit.runs.run import Run
from irtoolkit.runs.storage import RunForm


def publish(
    run: Run,
    path: StrPath,
    made: Mapping[str, Any],
    seconds: float,
    *,
    form: RunForm = "trec",
) -> None:
    """Writes a run, its exact ranks and its record; no run is ever beside another run's record.

    Only the first process of a launch writes. Independent processes may write to one path at once:
    they write one after the other.

    Args:
        run: scores of one query should not tie; see `Run.untied`. Its exact ranks are written where
            it has some.
        path: TREC text, .gz or Parquet by its name; a pipe or device gets the run alone. What goes to
            a URL is written on this machine first, and stays there if it cannot be uploaded.
        made: everything that decided the run.
        seconds: time the ranking took.
        form: see `Run.write`.

    Raises:
        InputError: an id that TREC text cannot hold, or the disk refuses.
    """
    if launch().helps:
        return
    url = url_of(path)
    if url is not None:
        from irtoolkit.base.copies import uploaded

        others = (str(beside(url, end)) for end in (RANKS_END, provenance.RECORD_END))
        with uploaded(url, *others) as files:
            publish(run, files[0], made, seconds, form=form)
        return
    target = on_disk(path)
    if is_special(target) or target.is_dir():  # a folder is refused
        run.write(target, form)
        return
    with _alone(target) as alone:
        # The record is removed first and written last.
        for old in (provenance.metadata_path(target), ranks_path(target)):
            if alone:
                remove_abandoned(old)
            with suppress(OSError):  # the writer raises the error of an impossible path
                old.unlink()
        if alone:
            remove_abandoned(target)
        written = run.write(target, form)
        if run.exact_ranks and written is not None:
            write_ranks(target, run.exact_ranks, written)
        content = provenance.record({**made, "sha256": written}, seconds)
        provenance.write_metadata(target, content)


def _alone(target: Path) -> AbstractContextManager[bool]:
    """Locks out other writers of a file, if its folder takes a lock; yields whether it does."""
    folder = target.parent
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return nullcontext(False)  # the writer raises the error
    return locked(hidden_beside(target, ".lock"), remove=True)

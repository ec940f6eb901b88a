"""Writing a run with what belongs beside it: exact ranks, and the record of how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from irtoolkit.base.files import StrPath, sha256
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
    # The record is removed first and written last.
    with suppress(OSError):  # the writer refuses an impossible path and says why
        provenance.metadata_path(path).unlink()
    remove_ranks(path)
    run.write(path, form)
    if not Path(path).is_file():  # a pipe or device
        return
    if ranks:
        write_ranks(path, ranks)
    provenance.write_metadata(path, provenance.record({**made, "sha256": sha256(path)}, seconds))

"""Recognition of runs among arguments in any order."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import first_line
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.base.paths import is_url, on_disk
from irtoolkit.runs.objects import RUN, is_ranx
from irtoolkit.runs.run import Run

# The fields of a row: query, Q0, document, rank, score, tag.
_FIELDS = 6


def is_run(value: Any) -> bool:
    """Returns whether something is a run: a Run, ranx's, or a file that begins as one.

    Nested dicts and data frames may be judgments as well.
    """
    if isinstance(value, str | PathLike):
        return _is_run_file(str(value))
    return isinstance(value, Run) or is_ranx(value, RUN)


def _is_run_file(name: str) -> bool:
    if is_url(name) or not os.path.isfile(on_disk(name)):
        return False
    path = Path(on_disk(name))
    try:
        if is_parquet_file(path):
            return _has_ranks(path)
        fields = first_line(path)[1].split()
    except InputError:
        return False
    return len(fields) == _FIELDS and _is_number(fields[3]) and _is_number(fields[4])


def _has_ranks(path: Path) -> bool:
    """Returns whether Parquet has a column of ranks, unlike judgments, which may have scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return "rank" in pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        return False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

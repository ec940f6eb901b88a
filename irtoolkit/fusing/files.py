"""Writing a held-out run, with a record of how it was tuned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from irtoolkit.base.files import StrPath
from irtoolkit.base.paths import without_credentials
from irtoolkit.fusing.search import HELD_OUT, FusionSearch
from irtoolkit.fusing.tuned import TunedFusion, tune_fusion
from irtoolkit.ranking.fusion_files import run_input
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import RunForm, check_run_name
from irtoolkit.version import __version__


def tune_files(
    data: Any,
    paths: Sequence[StrPath],
    output: StrPath | None,
    search: FusionSearch,
    *,
    measure: Any = None,
    log: StrPath | None = None,
    form: RunForm = "trec",
) -> TunedFusion:
    """Tunes a fusion of run files; writes the held-out run, and a record beside it.

    Args:
        data, search, measure, log: see `tune_fusion`.
        paths: runs in TREC text, .gz or Parquet.
        output: the file of the held-out run; None writes none.
        form: of the file, see `Run.write`.

    Raises:
        InputError: see `tune_fusion`; or the file cannot be written.
    """
    started = time.monotonic()
    if output is not None:
        check_run_name(output, form)
    result = tune_fusion(data, paths, search, measure=measure, log=log)
    if output is None:
        return result
    inputs = [run_input(path, run) for path, run in zip(paths, result.bench.runs, strict=True)]
    record = {
        "dataset": result.bench.dataset.id,
        "system": result.run.tag,
        "retriever": HELD_OUT,
        "settings": {**asdict(search), "measure": result.bench.name},
        "chosen": [asdict(configuration) for configuration in result.chosen],
        "runs": [{**item, "file": without_credentials(item["file"])} for item in inputs],
        "depth": search.depth,
        "version": __version__,
    }
    publish(result.run, output, record, time.monotonic() - started, form=form)
    return result

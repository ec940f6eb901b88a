"""Recognition of datasets and runs among arguments in any order."""

from __future__ import annotations

import logging
from collections.abc import Callable
from os import PathLike
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.base.paths import shown
from irtoolkit.datasets.book_files import is_book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local.contents import role_of_content
from irtoolkit.datasets.local.judgments import may_be_scores
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.recognise import is_run

_log = logging.getLogger(__name__)


def is_dataset(value: Any) -> bool:
    """Returns whether something is a dataset or judgments, and not a run."""
    if not isinstance(value, str | PathLike):
        return isinstance(value, Dataset | Qrels) or hasattr(value, "docs_iter")
    if is_file(value):
        return not is_run(value)
    if is_book(value):
        return True
    try:
        Dataset.load(str(value))
    except InputError:
        return False
    return True


def _has_judgments(value: Any) -> bool:
    """Returns whether something is a dataset, or judgments that cannot be a run."""
    if not isinstance(value, str | PathLike) or not is_file(value):
        return is_dataset(value)
    path = local(value)
    return role_of_content(path) == "qrels" and not may_be_scores(path)


def log_order(message: str) -> None:
    """Logs that arguments were taken in another order than the usual one."""
    _log.warning("%s", message)


def name_of(value: Any) -> str:
    """Returns the name of a dataset, run, system or file in messages, otherwise that of its type."""
    if isinstance(value, str | PathLike):
        return shown(value)
    if isinstance(value, Dataset):
        return value.id
    name = value.tag if isinstance(value, Run) else getattr(value, "name", None)
    return name if isinstance(name, str) and name else f"the {type(value).__name__}"


def dataset_first(data: Any, runs: Any, say: Callable[[str], None] = log_order) -> tuple[Any, Any]:
    """Returns a dataset and runs in this order.

    They are swapped if `data` is a run, and exactly one of the runs is a dataset or judgments, and
    cannot be a run; `say` receives a line about it. Anything else stays as it is.
    """
    listed = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not is_run(data):
        return data, runs
    datasets = [value for value in listed if _has_judgments(value)]
    if len(datasets) != 1:
        return data, runs
    say(f"{name_of(datasets[0])} is taken for the dataset, and {name_of(data)} for a run")
    return datasets[0], [data, *(value for value in listed if value is not datasets[0])]

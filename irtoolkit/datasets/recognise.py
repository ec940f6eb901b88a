"""Recognition of a dataset, by what it is and not by its position."""

from __future__ import annotations

from os import PathLike
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import is_file, local
from irtoolkit.datasets.book_files import is_book
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.local.contents import role_of_content
from irtoolkit.datasets.local.judgments import may_be_scores
from irtoolkit.runs import Qrels
from irtoolkit.runs.recognise import is_run


def is_dataset(given: Any) -> bool:
    """Returns whether something is a dataset or judgments, and not a run."""
    if not isinstance(given, str | PathLike):
        return isinstance(given, Dataset | Qrels) or hasattr(given, "docs_iter")
    if is_file(given):
        return not is_run(given)
    if is_book(given):
        return True
    try:
        Dataset.load(str(given))
    except InputError:
        return False
    return True


def _has_judgments(given: Any) -> bool:
    """Returns whether something is a dataset, or judgments that cannot be a run."""
    if not isinstance(given, str | PathLike) or not is_file(given):
        return is_dataset(given)
    path = local(given)
    return role_of_content(path) == "qrels" and not may_be_scores(path)


def dataset_first(data: Any, runs: Any) -> tuple[Any, Any]:
    """Returns a dataset and runs in this order.

    They are swapped if `data` is a run, and exactly one of the runs is a dataset or judgments, and
    cannot be a run. Anything else stays as it is.
    """
    listed = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not is_run(data):
        return data, runs
    datasets = [one for one in listed if _has_judgments(one)]
    if len(datasets) != 1:
        return data, runs
    return datasets[0], [data, *(one for one in listed if one is not datasets[0])]

"""Documents that a benchmark leaves out of a query's ranking before it is scored."""

from __future__ import annotations

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.exclusions import Excluded, docs_of_grade


def excluded_docs(dataset: Dataset, named: int | None) -> Excluded:
    """Returns query id to the documents that are left out: those of a grade, or the dataset's own.

    Args:
        dataset: its `excluded` counts if no grade is named.
        named: the grade that a user names.

    Raises:
        InputError: no document has the grade that is named.
    """
    named = dataset.excluded if named is None else named
    if named is None:
        return dataset.excluded_docs
    _check_grade(named, dataset)
    return docs_of_grade(dataset.qrels, named)


def _check_grade(named: int, dataset: Dataset) -> None:
    grades = np.unique(dataset.qrels.grades).tolist()
    if named not in grades:
        some = ", ".join(map(str, grades[:10])) + (", ..." if len(grades) > 10 else "")
        raise InputError(
            f"no document has the excluded grade {named!r} in {dataset.id}",
            remedy=f"the judgments have the grades {some}",
        )

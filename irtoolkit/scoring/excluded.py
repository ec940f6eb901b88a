"""Documents that a benchmark removes from a query's ranking before it is scored."""

from __future__ import annotations

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.exclusions import Excluded, docs_of_grade


def excluded_docs(dataset: Dataset, named: int | None) -> Excluded:
    """Returns the documents to leave out by query id: those of a grade, or the dataset's own.

    Args:
        dataset: its `excluded` is used if no grade is given.
        named: the grade that the user gives.

    Raises:
        InputError: no document has that grade.
    """
    named = dataset.excluded if named is None else named
    if named is None:
        return dataset.excluded_docs
    _check_grade(named, dataset)
    return docs_of_grade(dataset.qrels, named)


def _check_grade(named: int, dataset: Dataset) -> None:
    grades = np.unique(dataset.qrels.grades).tolist()
    if named not in grades:
        examples = ", ".join(map(str, grades[:10])) + (", ..." if len(grades) > 10 else "")
        raise InputError(
            f"no document has the excluded grade {named!r} in {dataset.id}",
            remedy=f"the judgments have the grades {examples}",
        )

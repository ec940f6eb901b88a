"""Documents that a benchmark leaves out of a query's ranking before it is scored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, translate
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Qrels, Run


def excluded_grade(dataset: Dataset, named: int | None) -> int | None:
    """Returns the grade that excludes a document, as it is named or by the dataset's own definition.

    BRIGHT's judgments in ir_datasets define -100 as "Excluded from evaluation".

    Args:
        dataset: its `excluded` counts if no grade is named.
        named: the grade that a user names.

    Raises:
        InputError: no document has the grade that is named.
    """
    named = dataset.excluded if named is None else named
    if named is not None:
        _check_grade(named, dataset)
        return named
    if not dataset.has("qrels") or "qrels" in dataset.replaced:
        return None
    defined = dataset.source.qrels_defs() or {}
    words = {grade: str(text).lower() for grade, text in defined.items()}
    return next((grade for grade, text in words.items() if text.startswith("excluded")), None)


def _check_grade(named: int, dataset: Dataset) -> None:
    grades = np.unique(dataset.qrels.grades).tolist()
    if named not in grades:
        some = ", ".join(map(str, grades[:10])) + (", ..." if len(grades) > 10 else "")
        raise InputError(
            f"no document has the excluded grade {named!r} in {dataset.id}",
            remedy=f"the judgments have the grades {some}",
        )


def without_excluded(run: Run, qrels: Qrels, grade: int) -> Run:
    """Returns a run without the documents that have a grade for their query."""
    marked = qrels.grades == grade
    judged_queries = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))[marked]
    queries = translate(qrels.query_ids, run.query_ids)[judged_queries]
    docs = translate(qrels.doc_ids, run.doc_ids)[qrels.docs[marked]]
    listed = (queries >= 0) & (docs >= 0)
    width = len(run.doc_ids)
    excluded = queries[listed] * width + docs[listed]
    kept: Ints = np.flatnonzero(~np.isin(run.queries * width + run.docs, excluded))
    if len(kept) == len(run):
        return run
    counts = np.bincount(run.queries[kept], minlength=len(run.query_ids))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    # Exact ranks count the excluded documents too.
    return replace(
        run, offsets=offsets, docs=run.docs[kept], scores=run.scores[kept], exact_ranks=None
    )

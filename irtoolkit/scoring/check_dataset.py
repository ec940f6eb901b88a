"""Checks of a run file against its dataset: topics, documents, candidate pools."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from irtoolkit.base.ids import Ids, Ints
from irtoolkit.base.plurals import be, number_of
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.scoring.check_file import RunFile


def check_topics(file: RunFile, dataset: Dataset) -> None:
    """Reports each unknown topic at its first line."""
    columns = file.columns
    queries = set(dataset.query_ids()) if dataset.has("queries") else set()
    if queries.issuperset(columns.query_ids):
        return
    allowed = queries | dataset.known_queries()
    _report_unknown(
        file,
        columns.query_ids,
        columns.queries,
        allowed,
        lambda name: f"topic {name} is not one of {dataset.id}",
    )


def check_documents(file: RunFile, dataset: Dataset) -> None:
    """Reports each unknown document at its first line, and rows outside the candidate pool."""
    if not dataset.has("docs"):
        return
    columns = file.columns
    existing = {doc.doc_id for doc in dataset.docs_store().get_many_iter(list(columns.doc_ids))}
    _report_unknown(
        file,
        columns.doc_ids,
        columns.docs,
        existing,
        lambda name: f"document {name} is not one of {dataset.id}",
    )
    if not dataset.has("scoreddocs"):
        return
    pools: dict[str, set[str]] = {}
    for candidate in dataset.scoreddocs_iter():
        pools.setdefault(candidate.query_id, set()).add(candidate.doc_id)
    for row, (query, doc) in enumerate(zip(columns.queries, columns.docs, strict=True)):
        pool = pools.get(columns.query_ids[query])
        name = columns.doc_ids[doc]
        if pool is not None and name not in pool and name in existing:
            file.report_row(
                row,
                f"document {name} is outside the pool of query {columns.query_ids[query]}",
                f"rank only candidates: irtoolkit export {dataset.id} pools; eval --candidates"
                " corpus scores runs of all documents",
            )


def check_missing_topics(file: RunFile, dataset: Dataset) -> None:
    """Reports topics that the run lacks, at the last line."""
    query_ids = dataset.query_ids() if dataset.has("queries") else []
    listed = set(file.columns.query_ids)
    absent = [query_id for query_id in query_ids if query_id not in listed]
    if absent:
        file.report_line(
            int(file.columns.lines.max()),
            f"{number_of(len(absent), 'topics')} of {dataset.id} {be(len(absent))} missing, the first {absent[0]}",
            "trec_eval counts a missing topic as zero",
        )


def check_missing_candidates(file: RunFile, dataset: Dataset) -> None:
    """Reports queries that do not rank their whole pool, each at its last line."""
    columns = file.columns
    listed: dict[str, set[str]] = {name: set() for name in columns.query_ids}
    last: dict[str, int] = {}
    for line, query, doc in zip(columns.lines, columns.queries, columns.docs, strict=True):
        name = columns.query_ids[query]
        listed[name].add(columns.doc_ids[doc])
        last[name] = max(last.get(name, 0), int(line))
    for queries, pool in dataset.candidates():
        for name in queries:
            absent = [doc for doc in pool if doc not in listed[name]] if name in listed else []
            if absent:
                file.report_line(
                    last[name],
                    f"query {name} lacks {len(absent)} of its {len(pool)} candidates,"
                    f" the first {absent[0]}",
                    f"rank the whole pool: irtoolkit export {dataset.id} pools",
                )


def _report_unknown(
    file: RunFile,
    names: Ids,
    codes: Ints,
    existing_names: Collection[str],
    say: Callable[[str], str],
) -> None:
    """Reports unknown names, each at its first row.

    Args:
        file: the run.
        names: ids of topics or documents.
        codes: (N,) index of each row's name.
        existing_names: the ids of the dataset.
        say: puts the problem of a name in words.
    """
    strange = np.array([name not in existing_names for name in names], dtype=bool)
    reported: set[int] = set()
    for row in np.flatnonzero(strange[codes]).tolist():
        if codes[row] not in reported:
            reported.add(int(codes[row]))
            file.report_row(row, say(names[codes[row]]), "was the run made for another dataset?")

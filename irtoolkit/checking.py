"""Holding a run against the dataset it claims to be for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from irtoolkit import trec
from irtoolkit.datasets import benchmark, candidates, known_queries, load_dataset
from irtoolkit.errors import InputError
from irtoolkit.files import StrPath
from irtoolkit.ids import Ids, Ints, id_array
from irtoolkit.runs import Run
from irtoolkit.trec import Report, RunColumns, raise_error


def read_run(path: StrPath, dataset_id: str | None = None) -> Run:
    """Reads a run that must fit a dataset.

    For our own benchmarks every topic and document must be known and every pool respected; for
    other datasets topics must be known.

    Raises:
        InputError: the first problem, with file and line.
    """
    if dataset_id is None:
        return Run.read(path)
    dataset = load_dataset(dataset_id)
    columns = _read(path, raise_error)
    run = Run.from_trec(columns)
    _report_topics(path, columns, dataset_id, dataset, raise_error)
    if benchmark(dataset) is not None:
        _report_documents(path, columns, dataset_id, dataset, raise_error)
    return run


def check_run(
    path: StrPath, dataset_id: str | None = None, depth: int | None = None
) -> list[InputError]:
    """Everything wrong with a run file, in no more than one message for each row and fault.

    Beyond what `read_run` refuses: more than one tag, an iteration field other than Q0 or 0,
    a query deeper than `depth`, and a topic of the dataset that the run lacks.
    """
    found: list[InputError] = []
    try:
        columns = _read(path, found.append)
    except InputError as error:  # the file cannot be read on
        return [*found, error]
    if not len(columns.lines):
        return found
    _report_form(path, columns, depth, found.append)
    if dataset_id is not None:
        dataset = load_dataset(dataset_id)
        _report_topics(path, columns, dataset_id, dataset, found.append)
        _report_documents(path, columns, dataset_id, dataset, found.append)
        asked = dataset.queries_iter() if dataset.has_queries() else ()
        listed = set(columns.query_ids)
        lacking = [query.query_id for query in asked if query.query_id not in listed]
        if lacking:
            found.append(
                InputError(
                    f"{len(lacking)} topics of {dataset_id} are missing, the first {lacking[0]}",
                    file=path,
                    remedy="trec_eval counts a missing topic as zero",
                )
            )
    return sorted(found, key=lambda problem: (problem.line is None, problem.line or 0))


def shallow_queries(run: Run, dataset: Any) -> list[str]:
    """Queries for which the run lists fewer documents than the dataset's pool holds."""
    if not dataset.has_scoreddocs():
        return []
    sizes = {query: len(pool) for members, pool in candidates(dataset) for query in members}
    listed = dict(zip(run.query_ids, np.diff(run.offsets).tolist(), strict=True))
    return [query for query, size in sizes.items() if listed.get(query, 0) < size]


def _read(path: StrPath, report: Report) -> RunColumns:
    """The rows of a run file; those of a Parquet file as if they were lines."""
    if not str(path).endswith(".parquet"):
        return trec.read_run(path, report)
    run = Run.read(path)
    numbers = np.arange(1, len(run) + 1)
    constant = np.zeros(len(run), dtype=np.int64)
    return RunColumns(
        numbers, run.query_ids, run.queries, run.doc_ids, run.docs.astype(np.int64), run.ranks,
        run.scores, id_array(["Q0"]), constant, id_array([run.tag]), constant,
    )  # fmt: skip


def _report_form(path: StrPath, columns: RunColumns, depth: int | None, report: Report) -> None:
    if len(columns.tags) > 1:
        second = int(np.argmax(columns.tag != columns.tag[0]))
        report(
            InputError(
                f"a second tag {columns.tags[columns.tag[second]]!r}"
                f" after {columns.tags[columns.tag[0]]!r}",
                file=path,
                line=int(columns.lines[second]),
                remedy="one file holds one system",
            )
        )
    strange = np.array([name not in ("Q0", "0") for name in columns.iterations], dtype=bool)
    for row in np.flatnonzero(strange[columns.iteration])[:1]:
        report(
            InputError(
                f"the second field is {columns.iterations[columns.iteration[row]]!r}",
                file=path,
                line=int(columns.lines[row]),
                remedy="it is Q0 in TREC runs",
            )
        )
    if depth is not None:
        counts = np.bincount(columns.queries, minlength=len(columns.query_ids))
        for query in np.flatnonzero(counts > depth):
            report(
                InputError(
                    f"query {columns.query_ids[query]} has {counts[query]} documents,"
                    f" more than {depth}",
                    file=path,
                    line=int(columns.lines[np.flatnonzero(columns.queries == query)[depth]]),
                    remedy="cut the ranking",
                )
            )


def _report_topics(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: Report
) -> None:
    own = {query.query_id for query in dataset.queries_iter()} if dataset.has_queries() else set()
    if all(name in own for name in columns.query_ids):
        return
    known = own | known_queries(dataset_id)
    _report_strangers(path, columns.lines, columns.query_ids, columns.queries, known, report,
                      lambda name: f"topic {name} is not one of {dataset_id}")  # fmt: skip


def _report_documents(
    path: StrPath, columns: RunColumns, dataset_id: str, dataset: Any, report: Report
) -> None:
    if not dataset.has_docs():
        return
    known = {doc.doc_id for doc in dataset.docs_store().get_many_iter(list(columns.doc_ids))}
    _report_strangers(path, columns.lines, columns.doc_ids, columns.docs, known, report,
                      lambda name: f"document {name} is not one of {dataset_id}")  # fmt: skip
    if not dataset.has_scoreddocs():
        return
    pools: dict[str, set[str]] = {}
    for row in dataset.scoreddocs_iter():
        pools.setdefault(row.query_id, set()).add(row.doc_id)
    for line, query, doc in zip(columns.lines, columns.queries, columns.docs, strict=True):
        pool = pools.get(columns.query_ids[query])
        name = columns.doc_ids[doc]
        if pool is not None and name not in pool and name in known:
            report(
                InputError(
                    f"document {name} is outside the pool of query {columns.query_ids[query]}",
                    file=path,
                    line=int(line),
                    remedy=f"rank only candidates: irtoolkit export {dataset_id} pools",
                )
            )


def _report_strangers(
    path: StrPath,
    lines: Ints,
    names: Ids,
    codes: Ints,
    known: Iterable[str],
    report: Report,
    say: Callable[[str], str],
) -> None:
    strange = np.array([name not in known for name in names], dtype=bool)
    rows = np.flatnonzero(strange[codes])
    seen: set[int] = set()
    for row in rows:
        if codes[row] not in seen:
            seen.add(int(codes[row]))
            report(
                InputError(
                    say(names[codes[row]]),
                    file=path,
                    line=int(lines[row]),
                    remedy="was the run made for another dataset?",
                )
            )
